import type { en } from './en.js';

export const nb: Record<keyof typeof en, string> = {
  'account.title': 'Kontoen din',
  'account.lead': 'Du er logget inn som {userName} ({tenant}).',
  'account.signedOut': 'Du må være logget inn for å se denne siden.',
  'account.again': 'Prøv igjen',
  'account.back': 'Tilbake til kontoen din',
  'account.foreign': 'Skjemaet var for gammelt eller fra en annen nettleser. Prøv igjen.',
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
  'account.sessions.lead': 'Hvis du ikke kjenner igjen en innlogging, logger du ut der.',
  'account.sessions.here': 'Denne nettleseren',
  'account.sessions.support': 'Kundestøtte, logget inn som deg',
  'account.sessions.withoutBrowser': 'Uten nettleser',
  'account.sessions.since': 'Logget inn {time} (UTC)',
  'account.sessions.used': 'Sist brukt: {ago}',
  'account.sessions.address': 'IP-adresse {address}',
  'account.sessions.applications': 'Applikasjoner: {applications}',
  'account.sessions.end': 'Logg ut',
  'account.sessions.about': '{browser}, logget inn {time} (UTC)',
  'account.sessions.others': 'Logg ut alle andre steder',
  'account.sessions.alone': 'Du er ikke logget inn andre steder.',
  'account.sessions.more': 'De nyeste {count} innloggingene vises. «Logg ut alle andre steder» avslutter også de andre.',

  'account.applications.title': 'Applikasjoner',
  'account.applications.summary': 'Se hvilke applikasjoner du bruker, og trekk tilbake det de har lov til.',

  'account.signIns.title': 'Siste innlogginger',
  'account.signIns.summary': 'Se når og med hvilken nettleser du logget inn.',

  'account.data.title': 'Dataene dine',
  'account.data.summary': 'Last ned det som er lagret om deg.',
};
