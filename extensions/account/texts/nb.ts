import type { en } from './en.js';

export const nb: Record<keyof typeof en, string> = {
  'account.title': 'Kontoen din',
  'account.lead': 'Du er logget inn som {userName} ({tenant}).',
  'account.signedOut': 'Du må være logget inn for å se denne siden.',
  'account.again': 'Prøv igjen',
  'account.browser.on': '{browser} på {system}',
  'account.browser.unknown': 'Ukjent nettleser',
  'account.browser.unknownOn': 'Ukjent nettleser på {system}',
  'account.group.person': 'Om deg',
  'account.group.signIn': 'Innlogging',
  'account.group.activity': 'Aktivitet',
  'account.group.data': 'Dataene dine',
  'account.group.more': 'Mer',

  'account.profile.title': 'Profil',
  'account.profile.summary': 'Endre navnet ditt og språket ditt.',

  'account.sessions.title': 'Økter',
  'account.sessions.summary': 'Se hvor du er logget inn, og logg ut andre steder.',

  'account.applications.title': 'Applikasjoner',
  'account.applications.summary': 'Se hvilke applikasjoner du bruker, og trekk tilbake det de har lov til.',

  'account.signIns.title': 'Siste innlogginger',
  'account.signIns.summary': 'Se når og med hvilken nettleser du logget inn.',

  'account.data.title': 'Dataene dine',
  'account.data.summary': 'Last ned det som er lagret om deg.',
};
