/** Words of the account page. */
export const en = {
  'account.title': 'Your account',
  'account.lead': 'You are signed in as {userName} ({tenant}).',
  'account.signedOut': 'You have to be signed in to see this page.',
  'account.again': 'Try again',
  'account.browser.on': '{browser} on {system}',
  'account.browser.unknown': 'Unknown browser',
  'account.browser.unknownOn': 'Unknown browser on {system}',
  'account.group.person': 'About you',
  'account.group.signIn': 'Signing in',
  'account.group.activity': 'Activity',
  'account.group.data': 'Your data',
  'account.group.more': 'More',

  'account.profile.title': 'Profile',
  'account.profile.summary': 'Change your name and your language.',

  'account.sessions.title': 'Sessions',
  'account.sessions.summary': 'See where you are signed in, and sign out elsewhere.',

  'account.applications.title': 'Applications',
  'account.applications.summary': 'See which applications you use, and withdraw what they may do.',

  'account.signIns.title': 'Recent sign-ins',
  'account.signIns.summary': 'See when and with which browser you signed in.',

  'account.data.title': 'Your data',
  'account.data.summary': 'Download what is stored about you.',
};
