import type { en } from './en.js';

export const sv: Record<keyof typeof en, string> = {
  'account.title': 'Ditt konto',
  'account.lead': 'Du är inloggad som {userName} ({tenant}).',
  'account.signedOut': 'Du måste vara inloggad för att se den här sidan.',
  'account.again': 'Försök igen',
};
