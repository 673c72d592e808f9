import type { en } from './en.js';

export const de: Record<keyof typeof en, string> = {
  'account.title': 'Ihr Konto',
  'account.lead': 'Sie sind als {userName} ({tenant}) angemeldet.',
  'account.signedOut': 'Sie müssen angemeldet sein, um diese Seite zu sehen.',
  'account.again': 'Noch einmal versuchen',
};
