import type { en } from './en.js';

export const da: Record<keyof typeof en, string> = {
  'account.title': 'Din konto',
  'account.lead': 'Du er logget ind som {userName} ({tenant}).',
  'account.signedOut': 'Du skal være logget ind for at se denne side.',
  'account.again': 'Prøv igen',
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

  'account.applications.title': 'Applikationer',
  'account.applications.summary': 'Se, hvilke applikationer du bruger, og træk tilbage, hvad de må.',

  'account.signIns.title': 'Seneste logins',
  'account.signIns.summary': 'Se, hvornår og med hvilken browser du loggede ind.',

  'account.data.title': 'Dine data',
  'account.data.summary': 'Hent det, der er gemt om dig.',
};
