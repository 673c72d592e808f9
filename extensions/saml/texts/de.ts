export const de = {
  'saml.refused.title': 'Diese Anfrage wurde nicht angenommen',
  'saml.refused.text': 'Die Anwendung hat etwas auf eine Art angefragt, die hier nicht erlaubt ist. Sagen Sie es denen, die sie betreuen.',
  'saml.unknown.title': 'Diese Anwendung ist hier nicht bekannt',
  'saml.unknown.text': 'Sie ist hier nicht registriert, oder ihre Registrierung wurde abgeschaltet. Sagen Sie es denen, die sie betreuen.',
  'saml.refused.reason': 'Grund: {reason}',
  'saml.reference': 'Referenz: {reference}',
  'saml.expired.title': 'Dieser Schritt ist vorbei',
  'saml.expired.text': 'Er wurde schon verwendet oder hat zu lange gedauert. Beginnen Sie in der Anwendung von vorn.',
  'saml.notSignedIn.title': 'Sie wurden nicht angemeldet',
  'saml.notSignedIn.text': 'Die Anmeldung bei {application} hat nicht stattgefunden. Beginnen Sie in der Anwendung von vorn.',
  'saml.signedOut.title': 'Sie sind abgemeldet',
  'saml.signedOut.text': 'Sie können diese Seite schließen.',
};
