/** Logger that keeps its lines, and reports lines without fields and a message, and errors under a name at which pino would lose them. */
import type { Logger } from 'tenant-idp';

export interface Line {
  readonly level: keyof Logger;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

export interface KeptLog {
  readonly logger: Logger;
  /** Lines of every level, except the notice about development defaults. */
  readonly lines: Line[];
  /** The lines at warn and error. */
  readonly logged: (readonly [fields: Readonly<Record<string, unknown>>, message: string])[];
}

const isLine = (data: readonly unknown[]): data is [Line['fields'], string] => {
  const [fields, message] = data;
  const isObject = typeof fields === 'object' && fields !== null && !(fields instanceof Error);
  return data.length === 2 && isObject && typeof message === 'string';
};

const misplacedErrors = (fields: Line['fields']): string[] =>
  Object.entries(fields).flatMap(([name, value]) => (value instanceof Error && name !== 'err' ? [name] : []));

export function keepLog(): KeptLog {
  const lines: Line[] = [];
  const logged: KeptLog['logged'] = [];
  const keeper =
    (level: Line['level']) =>
    (...data: unknown[]): void => {
      const [fields, message] = isLine(data) ? data : ([{ data }, 'a line that is not fields and a message'] as const);
      const misplaced = misplacedErrors(fields);
      if (misplaced.length > 0) logged.push([{ misplaced }, 'errors that are not err']);
      if (message.includes('runs with development defaults')) return;
      lines.push({ level, fields, message });
      if (level === 'warn' || level === 'error') logged.push([fields, message]);
    };
  return { logger: { debug: keeper('debug'), info: keeper('info'), warn: keeper('warn'), error: keeper('error') }, lines, logged };
}
