import type { en } from './en.js';

export const fi: Record<keyof typeof en, string> = {
  'account.title': 'Tilisi',
  'account.lead': 'Olet kirjautunut käyttäjänä {userName} ({tenant}).',
  'account.signedOut': 'Sinun on oltava kirjautuneena nähdäksesi tämän sivun.',
  'account.again': 'Yritä uudelleen',
};
