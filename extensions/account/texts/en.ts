/** Words of the account page. */
export const en = {
  'account.title': 'Your account',
  'account.lead': 'You are signed in as {userName} ({tenant}).',
  'account.signedOut': 'You have to be signed in to see this page.',
  'account.again': 'Try again',
};
