export const da = {
  'saml.refused.title': 'Anmodningen blev ikke godtaget',
  'saml.refused.text': 'Applikationen bad om noget på en måde, der ikke er tilladt her. Sig det til dem, der har ansvaret for den.',
  'saml.unknown.title': 'Denne applikation er ikke kendt her',
  'saml.unknown.text': 'Den er ikke registreret her, eller registreringen er slået fra. Sig det til dem, der har ansvaret for den.',
  'saml.refused.reason': 'Årsag: {reason}',
  'saml.reference': 'Reference: {reference}',
  'saml.expired.title': 'Dette trin er forbi',
  'saml.expired.text': 'Det er brugt før, eller tog for lang tid. Begynd forfra fra applikationen.',
  'saml.notSignedIn.title': 'Du blev ikke logget ind',
  'saml.notSignedIn.text': 'Login i {application} blev ikke til noget. Begynd forfra fra applikationen.',
  'saml.signedOut.title': 'Du er logget ud',
  'saml.signedOut.text': 'Du kan lukke denne side.',
};
