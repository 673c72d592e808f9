/** Page texts of the SAML extension in English. */
export const en = {
  'saml.refused.title': 'This request was not accepted',
  'saml.refused.text': 'The application asked for something in a way that is not allowed here. Tell the people who look after it.',
  'saml.unknown.title': 'This application is not known here',
  'saml.unknown.text': 'It is not registered here, or its registration was switched off. Tell the people who look after it.',
  'saml.refused.reason': 'Reason: {reason}',
  'saml.reference': 'Reference: {reference}',
  'saml.expired.title': 'This step is over',
  'saml.expired.text': 'It was used before, or took too long. Start again from the application.',
  'saml.notSignedIn.title': 'You were not signed in',
  'saml.notSignedIn.text': 'The sign-in to {application} did not happen. Start again from the application.',
  'saml.signedOut.title': 'You are signed out',
  'saml.signedOut.text': 'You can close this page.',
  'saml.signedOut.again': 'Sign in again',
};
