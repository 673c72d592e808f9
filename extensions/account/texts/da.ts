import type { en } from './en.js';

export const da: Record<keyof typeof en, string> = {
  'account.title': 'Din konto',
  'account.lead': 'Du er logget ind som {userName} ({tenant}).',
  'account.signedOut': 'Du skal være logget ind for at se denne side.',
  'account.again': 'Prøv igen',
};
