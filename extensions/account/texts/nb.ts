import type { en } from './en.js';

export const nb: Record<keyof typeof en, string> = {
  'account.title': 'Kontoen din',
  'account.lead': 'Du er logget inn som {userName} ({tenant}).',
  'account.signedOut': 'Du må være logget inn for å se denne siden.',
  'account.again': 'Prøv igjen',
};
