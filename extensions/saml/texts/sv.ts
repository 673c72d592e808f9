export const sv = {
  'saml.refused.title': 'Begäran godtogs inte',
  'saml.refused.text': 'Applikationen begärde något på ett sätt som inte är tillåtet här. Säg till dem som ansvarar för den.',
  'saml.unknown.title': 'Den här applikationen är inte känd här',
  'saml.unknown.text': 'Den är inte registrerad här, eller så är registreringen avstängd. Säg till dem som ansvarar för den.',
  'saml.refused.reason': 'Orsak: {reason}',
  'saml.reference': 'Referens: {reference}',
  'saml.expired.title': 'Det här steget är över',
  'saml.expired.text': 'Det har redan använts, eller tog för lång tid. Börja om från applikationen.',
  'saml.notSignedIn.title': 'Du loggades inte in',
  'saml.notSignedIn.text': 'Inloggningen i {application} blev inte av. Börja om från programmet.',
  'saml.signedOut.title': 'Du är utloggad',
  'saml.signedOut.text': 'Du kan stänga den här sidan.',
};
