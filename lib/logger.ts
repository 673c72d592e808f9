/** Fields of a log line, in addition to its message. An error is `err`, which pino logs with its stack and causes. */
export interface LogFields {
  readonly err?: unknown;
  readonly [name: string]: unknown;
}

/** A logger, such as `console` or pino. A line has fields, then a message whose text never varies. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/* biome-ignore-start lint/suspicious/noConsole: the logger of a host that gives none */
/** The default logger: warnings and errors to the console. */
export const warningsToConsole: Logger = {
  debug: () => {},
  info: () => {},
  warn: (fields, message) => console.warn(message, ...shownFields(fields)),
  error: (fields, message) => console.error(message, ...shownFields(fields)),
};
/* biome-ignore-end lint/suspicious/noConsole: the logger of a host that gives none */

const shownFields = (fields: LogFields): readonly LogFields[] => (Object.keys(fields).length > 0 ? [fields] : []);

/**
 * Returns a logger that logs only members of an error that explain the error. Drivers and clients attach commands, records and requests, which must not be
 * logged.
 */
export function withBareErrors(logger: Logger): Logger {
  const fieldsOf = (fields: LogFields): LogFields => ('err' in fields ? { ...fields, err: bareError(fields.err) } : fields);
  return {
    debug: (fields, message) => logger.debug(fieldsOf(fields), message),
    info: (fields, message) => logger.info(fieldsOf(fields), message),
    warn: (fields, message) => logger.warn(fieldsOf(fields), message),
    error: (fields, message) => logger.error(fieldsOf(fields), message),
  };
}

/** Members that explain an error of the service, oidc-provider or Node. */
const told = ['code', 'status', 'details', 'error', 'error_description', 'error_detail', 'syscall', 'address', 'port', 'hostname'];

/** Maximum depth of causes that are logged. */
const DEPTH = 5;

/** Members of a plain object in which a client library stores the values that it compared. */
const holders = ['body', 'claims', 'header', 'parameters'];

/** Names of values that identify a party or an algorithm, but never a person. */
const comparable: ReadonlySet<unknown> = new Set(['issuer', 'iss', 'aud', 'azp', 'alg', 'typ']);

const shown = (value: unknown): string => (value === undefined || value === null ? 'nothing' : JSON.stringify(value).slice(0, 200));

/**
 * Returns the name and both values of a comparison that failed in a client library. The library throws an error whose deepest cause is a plain object with
 * these values. Undefined for any other error.
 * @example
 * ```ts
 * import { mismatchIn } from 'tenant-idp/extension';
 *
 * const cause = { attribute: 'issuer', expected: 'https://a.example', body: { issuer: 'https://a.example/' } };
 * console.log(mismatchIn(new Error('refused', { cause }))); // issuer: expected "https://a.example", got "https://a.example/"
 * ```
 */
export function mismatchIn(error: unknown): string | undefined {
  let each = error;
  for (let depth = 0; each instanceof Error && depth < DEPTH; depth += 1) each = each.cause;
  if (typeof each !== 'object' || each === null || each instanceof Error) return undefined;
  const cause = each as { readonly [member: string]: unknown };
  const name = cause.attribute ?? cause.claim ?? (cause.parameters instanceof URLSearchParams ? 'iss' : undefined);
  if (!comparable.has(name)) return undefined;
  const holder = holders.map((member) => cause[member]).find((value) => typeof value === 'object' && value !== null);
  const found = holder instanceof URLSearchParams ? holder.get(String(name)) : (holder as typeof cause | undefined)?.[String(name)];
  return oneLine(`${name}: expected ${shown(cause.expected)}, got ${shown(found)}`);
}

/**
 * Returns a text for a plain object that was thrown. If the object has no comparison, only names of members are logged, because values may be records or
 * tokens.
 */
const plainCause = (cause: object): string =>
  mismatchIn(cause) ?? oneLine(`an object with ${Object.keys(cause).slice(0, 10).join(', ').slice(0, 200) || 'no members'}`);

function bareError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return typeof error === 'object' && error !== null ? plainCause(error) : oneLine(error);
  const message = oneLine(error.message);
  const bare = new Error(message);
  const set = (name: string, value: unknown, enumerable = false) =>
    Object.defineProperty(bare, name, { value, enumerable, configurable: true, writable: true });
  set('stack', error.stack?.replace(error.message, message));
  // A logger that reads members of a DOMException's prototype would throw, because the getters of the prototype throw on every other object.
  const isForeign = error instanceof DOMException;
  if (!isForeign) Object.setPrototypeOf(bare, Object.getPrototypeOf(error) as object);
  if (isForeign || Object.hasOwn(error, 'name')) set('name', error.name);
  for (const name of told) if (Object.hasOwn(error, name)) set(name, (error as unknown as Record<string, unknown>)[name], true);
  if (depth < DEPTH) {
    if (error.cause !== undefined) set('cause', bareError(error.cause, depth + 1));
    if (error instanceof AggregateError) {
      set(
        'errors',
        error.errors.map((each) => bareError(each, depth + 1)),
      );
    }
  }
  return bare;
}

/** Replaces line breaks, because a line break in a text from outside would start a new line of the log. */
const oneLine = <T>(value: T): T =>
  typeof value === 'string'
    ? (value.replace(/[\p{Cc}\u2028\u2029]/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`) as T)
    : value;
