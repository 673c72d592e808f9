import type { en } from './en.js';

export const de: Record<keyof typeof en, string> = {
  'account.title': 'Ihr Konto',
  'account.lead': 'Sie sind als {userName} ({tenant}) angemeldet.',
  'account.signedOut': 'Sie müssen angemeldet sein, um diese Seite zu sehen.',
  'account.again': 'Noch einmal versuchen',
  'account.back': 'Zurück zu Ihrem Konto',
  'account.foreign': 'Das Formular war zu alt oder aus einem anderen Browser. Versuchen Sie es noch einmal.',
  'account.browser.on': '{browser} unter {system}',
  'account.browser.unknown': 'Unbekannter Browser',
  'account.browser.unknownOn': 'Unbekannter Browser unter {system}',
  'account.group.person': 'Über Sie',
  'account.group.signIn': 'Anmeldung',
  'account.group.activity': 'Aktivität',
  'account.group.data': 'Ihre Daten',
  'account.group.more': 'Mehr',

  'account.profile.title': 'Profil',
  'account.profile.summary': 'Ändern Sie Ihren Namen und Ihre Sprache.',

  'account.sessions.title': 'Sitzungen',
  'account.sessions.summary': 'Sehen Sie, wo Sie angemeldet sind, und melden Sie sich anderswo ab.',
  'account.sessions.lead': 'Wenn Sie eine Anmeldung nicht kennen, melden Sie sich dort ab.',
  'account.sessions.here': 'Dieser Browser',
  'account.sessions.support': 'Support, als Sie angemeldet',
  'account.sessions.withoutBrowser': 'Ohne Browser',
  'account.sessions.since': 'Angemeldet am {time} (UTC)',
  'account.sessions.used': 'Zuletzt benutzt: {ago}',
  'account.sessions.address': 'IP-Adresse {address}',
  'account.sessions.applications': 'Anwendungen: {applications}',
  'account.sessions.end': 'Abmelden',
  'account.sessions.about': '{browser}, angemeldet am {time} (UTC)',
  'account.sessions.others': 'Überall sonst abmelden',
  'account.sessions.alone': 'Sie sind nirgendwo sonst angemeldet.',
  'account.sessions.more': 'Gezeigt werden die neuesten {count} Anmeldungen. „Überall sonst abmelden“ beendet auch die anderen.',

  'account.applications.title': 'Anwendungen',
  'account.applications.summary': 'Sehen Sie, welche Anwendungen Sie nutzen, und widerrufen Sie, was diese dürfen.',

  'account.signIns.title': 'Letzte Anmeldungen',
  'account.signIns.summary': 'Sehen Sie, wann und mit welchem Browser Sie sich angemeldet haben.',

  'account.data.title': 'Ihre Daten',
  'account.data.summary': 'Laden Sie herunter, was über Sie gespeichert ist.',
};
