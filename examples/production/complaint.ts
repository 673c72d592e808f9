import { ConfigError, IdpError } from 'tenant-idp';
import { SettingsError } from './settings.js';

/** What to tell the person who started the service: with a stack only when it is nothing that they can put right. */
export function complaint(error: unknown): unknown {
  if (error instanceof SettingsError || error instanceof ConfigError) return error.message;
  if (error instanceof Error && 'syscall' in error) return error.message; // the port is in use
  if (!(error instanceof IdpError)) return error;
  const { message, code, details, cause } = error;
  return `${message} [${code}] ${JSON.stringify(details)}${cause instanceof Error ? ` ${cause.message}` : ''}`;
}
