import { IdpError } from '../../../lib/errors.js';
import type { Failure } from '../calls.js';
import { isSqliteError, sqliteCodeOf, sqliteCodes } from './node-sqlite.js';

const write = "let the service's user write the file and its folder";
const folder = "create the folder of the file, and let the service's user write it";

/** Remedies for an operator, by the error code of SQLite or of the file system. */
const remedies = new Map<string | number | undefined, string>([
  [sqliteCodes.busy, 'end the other program that writes the file'],
  [sqliteCodes.readOnly, write],
  [sqliteCodes.inputOutput, 'check the disk'],
  [sqliteCodes.corrupt, 'stop the service, and restore the last backup'],
  [sqliteCodes.full, 'free space on the disk'],
  [sqliteCodes.cannotOpen, folder],
  [sqliteCodes.notADatabase, 'name another file, or restore the last backup'],
  ['ENOENT', folder],
  ['EACCES', write],
  ['EPERM', write],
  ['EROFS', write],
  ['ENOSPC', 'free space on the disk'],
]);

const remedyOf = (error: unknown): string | undefined =>
  remedies.get(isSqliteError(error) ? sqliteCodeOf(error) : (error as { readonly code?: string }).code);

/** Returns the error for a file that cannot be opened at a start. */
export function unfit(file: string, error: unknown): IdpError {
  if (error instanceof IdpError) return error;
  const change = remedyOf(error) ?? 'check the path and the disk';
  return new IdpError('store_unfit', { store: 'sqlite', file, found: messageOf(error), expected: 'a database of SQLite', change });
}

/** Returns the error for a file that was open before, and cannot be opened again. Until the file can be opened, calls fail as in an outage. */
export function notReopened(file: string, error: unknown): Error {
  const { found, change } = unfit(file, error).details;
  return new Error(`${found}: ${file}. To fix it, ${change}.`);
}

/** Returns an error as plain data for a message between threads. */
export function failureOf(error: unknown, file: string): Failure {
  if (error instanceof IdpError) return { message: error.message, idp: { code: error.code, details: error.details } };
  const message = messageOf(error);
  if (!isSqliteError(error)) return { message, isTypeError: error instanceof TypeError };
  const remedy = remedyOf(error);
  return { message: remedy === undefined ? `${message}: ${file}` : `${message}: ${file}. To fix it, ${remedy}.` };
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
