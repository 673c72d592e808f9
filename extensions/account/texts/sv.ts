import type { en } from './en.js';

export const sv: Record<keyof typeof en, string> = {
  'account.title': 'Ditt konto',
  'account.lead': 'Du är inloggad som {userName} ({tenant}).',
  'account.signedOut': 'Du måste vara inloggad för att se den här sidan.',
  'account.again': 'Försök igen',
  'account.back': 'Tillbaka till ditt konto',
  'account.foreign': 'Formuläret var för gammalt eller från en annan webbläsare. Försök igen.',
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
  'account.sessions.lead': 'Om du inte känner igen en inloggning loggar du ut där.',
  'account.sessions.here': 'Den här webbläsaren',
  'account.sessions.support': 'Supporten, inloggad som du',
  'account.sessions.withoutBrowser': 'Utan webbläsare',
  'account.sessions.since': 'Inloggad {time} (UTC)',
  'account.sessions.used': 'Senast använd: {ago}',
  'account.sessions.address': 'IP-adress {address}',
  'account.sessions.applications': 'Applikationer: {applications}',
  'account.sessions.end': 'Logga ut',
  'account.sessions.about': '{browser}, inloggad {time} (UTC)',
  'account.sessions.others': 'Logga ut överallt annars',
  'account.sessions.alone': 'Du är inte inloggad någon annanstans.',
  'account.sessions.more': 'De senaste {count} inloggningarna visas. ”Logga ut överallt annars” avslutar även de övriga.',

  'account.applications.title': 'Applikationer',
  'account.applications.summary': 'Se vilka applikationer du använder och återkalla vad de får göra.',

  'account.signIns.title': 'Senaste inloggningar',
  'account.signIns.summary': 'Se när och med vilken webbläsare du loggade in.',

  'account.data.title': 'Dina uppgifter',
  'account.data.summary': 'Ladda ner det som finns lagrat om dig.',
};
