export const nb = {
  'saml.refused.title': 'Forespørselen ble ikke godtatt',
  'saml.refused.text': 'Applikasjonen ba om noe på en måte som ikke er tillatt her. Si fra til dem som har ansvar for den.',
  'saml.unknown.title': 'Denne applikasjonen er ikke kjent her',
  'saml.unknown.text': 'Den er ikke registrert her, eller registreringen er slått av. Si fra til dem som har ansvar for den.',
  'saml.refused.reason': 'Årsak: {reason}',
  'saml.reference': 'Referanse: {reference}',
  'saml.expired.title': 'Dette steget er over',
  'saml.expired.text': 'Det er brukt før, eller tok for lang tid. Begynn på nytt fra applikasjonen.',
  'saml.notSignedIn.title': 'Du ble ikke logget inn',
  'saml.notSignedIn.text': 'Innloggingen i {application} ble ikke noe av. Start på nytt fra applikasjonen.',
  'saml.signedOut.title': 'Du er logget ut',
  'saml.signedOut.text': 'Du kan lukke denne siden.',
};
