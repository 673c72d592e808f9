import type { en } from './en.js';

export const fi: Record<keyof typeof en, string> = {
  'account.title': 'Tilisi',
  'account.lead': 'Olet kirjautunut käyttäjänä {userName} ({tenant}).',
  'account.signedOut': 'Sinun on oltava kirjautuneena nähdäksesi tämän sivun.',
  'account.again': 'Yritä uudelleen',
  'account.back': 'Takaisin tiliisi',
  'account.foreign': 'Lomake oli liian vanha tai toisesta selaimesta. Yritä uudelleen.',
  'account.browser.on': '{browser} ({system})',
  'account.browser.unknown': 'Tuntematon selain',
  'account.browser.unknownOn': 'Tuntematon selain ({system})',
  'account.group.person': 'Sinusta',
  'account.group.signIn': 'Kirjautuminen',
  'account.group.activity': 'Toiminta',
  'account.group.data': 'Omat tietosi',
  'account.group.more': 'Lisää',

  'account.profile.title': 'Profiili',
  'account.profile.summary': 'Muuta nimeäsi ja kieltäsi.',

  'account.sessions.title': 'Istunnot',
  'account.sessions.summary': 'Katso, missä olet kirjautuneena, ja kirjaudu ulos muualta.',
  'account.sessions.lead': 'Jos et tunnista kirjautumista, kirjaudu siitä ulos.',
  'account.sessions.here': 'Tämä selain',
  'account.sessions.support': 'Asiakastuki kirjautuneena puolestasi',
  'account.sessions.withoutBrowser': 'Ilman selainta',
  'account.sessions.since': 'Kirjauduttu {time} (UTC)',
  'account.sessions.used': 'Viimeksi käytetty: {ago}',
  'account.sessions.address': 'IP-osoite {address}',
  'account.sessions.applications': 'Sovellukset: {applications}',
  'account.sessions.end': 'Kirjaudu ulos',
  'account.sessions.about': '{browser}, kirjauduttu {time} (UTC)',
  'account.sessions.others': 'Kirjaudu ulos kaikkialta muualta',
  'account.sessions.alone': 'Et ole kirjautuneena muualla.',
  'account.sessions.more': 'Näytetään uusimmat {count} kirjautumista. ”Kirjaudu ulos kaikkialta muualta” lopettaa myös muut.',

  'account.applications.title': 'Sovellukset',
  'account.applications.summary': 'Katso, mitä sovelluksia käytät, ja peru niiden oikeuksia.',

  'account.signIns.title': 'Viimeisimmät kirjautumiset',
  'account.signIns.summary': 'Katso, milloin ja millä selaimella kirjauduit.',

  'account.data.title': 'Omat tietosi',
  'account.data.summary': 'Lataa sinusta tallennetut tiedot.',
};
