import { ConfigError, IdpError } from 'tenant-idp';
import { SettingsError } from './settings.js';

/** Returns the message for the operator who started the service. The message has a stack only if the operator cannot correct the problem. */
export function complaint(error: unknown): unknown {
  if (error instanceof SettingsError || error instanceof ConfigError) return error.message;
  if (error instanceof Error && 'syscall' in error) return error.message; // the port is in use
  if (!(error instanceof IdpError)) return error;
  const { message, code, details } = error;
  const what = message.includes(code) ? message : `${message} [${code}] ${JSON.stringify(details)}`;
  const reason = deepestCause(error);
  return reason === error ? what : `${what} ${reason.message}`;
}

/** Returns the deepest cause, because the error of an unavailable store is the cause of another error. */
const deepestCause = (error: Error): Error => (error.cause instanceof Error ? deepestCause(error.cause) : error);
