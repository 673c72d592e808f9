import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the first of these programs that is there. @param programs names on PATH, or paths */
export const findProgram = (programs: readonly string[]): string | undefined =>
  programs
    .flatMap((program) =>
      program.includes('/') ? [program] : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, program)),
    )
    .find(isExecutable);
