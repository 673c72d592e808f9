import type { en } from './en.js';

export const sv: Record<keyof typeof en, string> = {
  'account.title': 'Ditt konto',
  'account.lead': 'Du är inloggad som {userName} ({tenant}).',
  'account.signedOut': 'Du måste vara inloggad för att se den här sidan.',
  'account.again': 'Försök igen',
  'account.browser.on': '{browser} på {system}',
  'account.browser.unknown': 'Okänd webbläsare',
  'account.browser.unknownOn': 'Okänd webbläsare på {system}',
  'account.group.person': 'Om dig',
  'account.group.signIn': 'Inloggning',
  'account.group.activity': 'Aktivitet',
  'account.group.data': 'Dina uppgifter',
  'account.group.more': 'Mer',

  'account.profile.title': 'Profil',
  'account.profile.summary': 'Ändra ditt namn och ditt språk.',

  'account.sessions.title': 'Sessioner',
  'account.sessions.summary': 'Se var du är inloggad och logga ut på andra ställen.',

  'account.applications.title': 'Applikationer',
  'account.applications.summary': 'Se vilka applikationer du använder och återkalla vad de får göra.',

  'account.signIns.title': 'Senaste inloggningar',
  'account.signIns.summary': 'Se när och med vilken webbläsare du loggade in.',

  'account.data.title': 'Dina uppgifter',
  'account.data.summary': 'Ladda ner det som finns lagrat om dig.',
};
