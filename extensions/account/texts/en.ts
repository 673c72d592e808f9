/** Words of the account page. */
export const en = {
  'account.title': 'Your account',
  'account.lead': 'You are signed in as {userName} ({tenant}).',
  'account.acting': 'This page is for people themselves, not for who acts as them.',
  'account.signedOut': 'You have to be signed in to see this page.',
  'account.again': 'Try again',
};
