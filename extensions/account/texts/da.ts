import type { en } from './en.js';

export const da: Record<keyof typeof en, string> = {
  'account.title': 'Din konto',
  'account.lead': 'Du er logget ind som {userName} ({tenant}).',
  'account.signedOut': 'Du skal være logget ind for at se denne side.',
  'account.again': 'Prøv igen',
  'account.back': 'Tilbage til din konto',
  'account.foreign': 'Formularen var for gammel eller fra en anden browser. Prøv igen.',
  'account.browser.on': '{browser} på {system}',
  'account.browser.unknown': 'Ukendt browser',
  'account.browser.unknownOn': 'Ukendt browser på {system}',
  'account.group.person': 'Om dig',
  'account.group.signIn': 'Login',
  'account.group.activity': 'Aktivitet',
  'account.group.data': 'Dine data',
  'account.group.more': 'Mere',

  'account.profile.title': 'Profil',
  'account.profile.summary': 'Ret dit navn og dit sprog.',

  'account.sessions.title': 'Sessioner',
  'account.sessions.summary': 'Se, hvor du er logget ind, og log ud andre steder.',
  'account.sessions.lead': 'Hvis du ikke kan genkende et login, så log ud der.',
  'account.sessions.here': 'Denne browser',
  'account.sessions.support': 'Supporten, logget ind som dig',
  'account.sessions.withoutBrowser': 'Uden browser',
  'account.sessions.since': 'Logget ind {time} (UTC)',
  'account.sessions.used': 'Sidst brugt: {ago}',
  'account.sessions.address': 'IP-adresse {address}',
  'account.sessions.applications': 'Applikationer: {applications}',
  'account.sessions.end': 'Log ud',
  'account.sessions.about': '{browser}, logget ind {time} (UTC)',
  'account.sessions.others': 'Log ud alle andre steder',
  'account.sessions.alone': 'Du er ikke logget ind andre steder.',
  'account.sessions.more': 'De nyeste {count} logins vises. “Log ud alle andre steder” afslutter også de øvrige.',

  'account.applications.title': 'Applikationer',
  'account.applications.summary': 'Se, hvilke applikationer du bruger, og træk tilbage, hvad de må.',

  'account.signIns.title': 'Seneste logins',
  'account.signIns.summary': 'Se, hvornår og med hvilken browser du loggede ind.',

  'account.data.title': 'Dine data',
  'account.data.summary': 'Hent det, der er gemt om dig.',
};
