/** Errors of the service: one table, which a test compares with `docs/reference/errors.md`. */

/** Status and description of an error code. */
export interface ErrorEntry {
  /** HTTP status of the answer. */
  readonly status: number;
  /** Description for the receiver of the answer: what is wrong, and what to do about it. */
  readonly description: string;
}

export const errorTable = {
  invalid_options: {
    status: 500,
    description: 'The options of createIdentityProvider are invalid, so the service does not start. Correct each member that is named.',
  },
  insecure_options: {
    status: 500,
    description: 'The options are not fit for production, so the service does not start. Change each member that is named.',
  },
  provider_started: {
    status: 500,
    description:
      'The service has started, so oidc-provider can no longer be changed. Add its middleware, listeners and grant types in the option onProvider.',
  },
  extension_conflict: {
    status: 500,
    description: 'Two extensions claim the same thing, so the service does not start. Rename or remove one of them.',
  },
  store_unfit: {
    status: 500,
    description:
      'A store is set up so that records would be lost, or could not be found again. Correct the setting or the index that `details` names.',
  },
  store_unavailable: { status: 503, description: 'A store did not answer. Try again shortly.' },
  clock_skewed: { status: 503, description: 'The clocks of this node and the artifact store are too far apart. Try again shortly.' },
  claims_unavailable: { status: 503, description: 'Claims could not be computed. Try again shortly.' },
  requirements_unavailable: { status: 503, description: 'The requirements of the sign-in could not be checked. Try again shortly.' },
  invalid_request: {
    status: 400,
    description: 'A parameter is missing, is sent twice, or has a value that is not allowed. Correct the request.',
  },
  invalid_client: { status: 401, description: 'The client is unknown, or it did not authenticate. Check its id and its secret.' },
  invalid_token: {
    status: 401,
    description: 'The access token is missing, unknown, expired, or for another audience. Get a new token for this API.',
  },
  unsupported_media_type: { status: 415, description: 'The body is not JSON. Send it with `Content-Type: application/json`.' },
  invalid_scope: { status: 400, description: 'A scope does not grant claims about users. Name other scopes.' },
  insufficient_scope: {
    status: 403,
    description:
      'The client may not have one of the scopes, or the access token does not have it. Allow the client the scope, and get a token with it.',
  },
  too_many_requests: { status: 429, description: 'Too many attempts failed. Try again after the seconds in `Retry-After`.' },
  tid_required: { status: 400, description: 'Linked accounts share this id. Name the tenant in `tid`.' },
  conflict: { status: 409, description: 'A record with the same unique value exists. Choose another value, or change that record.' },
  cursor_expired: {
    status: 410,
    description: 'Events after this cursor were removed. Read from the beginning, and compare with your data.',
  },
  not_found: { status: 404, description: 'There is no such record. Check the id, and the tenant in the path.' },
  invalid_cursor: {
    status: 400,
    description: 'The cursor is not from this list. Read the list from its start, or repeat the query that the cursor came from.',
  },
  invalid_record: { status: 422, description: 'The record has a value that is not allowed. Correct it as `expected` says.' },
  tenant_name_taken: {
    status: 409,
    description: 'Another tenant has this name, apart from case, width, spaces, full stops and invisible letters. Choose another name.',
  },
  user_name_taken: { status: 409, description: 'Another user of this tenant has this user name. Choose another name.' },
  person_has_user: { status: 409, description: 'The person already has a user. Change that user instead.' },
  user_required: {
    status: 422,
    description: 'Only a user can be invited, and the person has no user. Give the person a user in the same call.',
  },
  user_not_invited: {
    status: 409,
    description:
      'The user is active or disabled, so the user cannot be invited any more. Send a reset link for the password, or enable the user.',
  },
  email_required: {
    status: 422,
    description: 'The person has no e-mail address to send a link to. Give the person an address, or fetch the link instead.',
  },
  mail_not_configured: {
    status: 422,
    description: 'The option mail is not set, so the service sends nothing. Set the option, or fetch the link instead.',
  },
  personal_tenant_missing: {
    status: 422,
    description:
      'The option personalTenant is not set, so there are no personal accounts to link to. Set the option, or invite a user of the tenant.',
  },
  client_unknown: { status: 422, description: 'The client is unknown, or it is not for users of this tenant. Name another client.' },
  invitation_over: {
    status: 409,
    description: 'The invitation was accepted, revoked or replaced, or it has expired. Create another one if the user is still invited.',
  },
  reset_over: { status: 409, description: 'The reset link was used or replaced, or it has expired. Ask for another one.' },
  proof_over: {
    status: 409,
    description:
      'The link was used or replaced, it has expired, or another user has the address. Ask for another link, or choose another address.',
  },
  group_unknown: { status: 422, description: 'A group does not exist in this tenant. Check its id or name, or create it first.' },
  group_refs_mixed: { status: 422, description: 'Group ids and group names are sent together. Send only one kind.' },
  permission_unknown: { status: 422, description: 'A permission is not in the catalogue. Check its id, or create it first.' },
  link_self: { status: 422, description: 'A user cannot be linked to itself. Name another parent.' },
  link_chain: {
    status: 422,
    description:
      'A parent account cannot have a parent, and a child account cannot have children. Name another parent, or end the other link first.',
  },
  link_same_tenant: {
    status: 422,
    description: 'The linked accounts already include an account of this tenant. End the link of that account first.',
  },
  link_not_allowed: {
    status: 422,
    description:
      'The tenant of one of the two accounts does not allow links to accounts of other tenants. Ask its administrator to allow them.',
  },
  link_privileged: {
    status: 422,
    description: 'The user has administrative permissions, so no account may become its parent. Take the permissions away first.',
  },
  already_linked: { status: 409, description: 'The user is already linked to a parent. End that link first.' },
  not_linked: { status: 409, description: 'The user is not linked to this parent. Read the links of the user, and name the link to end.' },
  self_service_refused: {
    status: 403,
    description:
      'The tenant does not let its users change this themselves. Ask its administrator for the change, or to add it to `selfService` of the tenant.',
  },
  undecipherable: {
    status: 500,
    description: 'An encrypted value cannot be decrypted. Put its secret back into `keys.encryption`, unless the value was altered.',
  },
  record_unreadable: {
    status: 500,
    description:
      'A stored record is malformed, so the service leaves it out. Write valid values for its malformed members, or remove the record.',
  },
  keys_given: {
    status: 409,
    description: 'The options give the signing keys, so the service cannot change them. Rotate them in the option that gives them.',
  },
  key_not_announced: {
    status: 409,
    description: 'The next signing key was published too recently to sign. Wait until the time in `from`.',
  },
  busy: { status: 503, description: 'The service has more work than it can do right now. Try again shortly.' },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

/** An error with a stable `code`. `details` are for the receiver of the answer and hold no secrets. `cause` is for logs only. */
export class IdpError extends Error {
  override readonly name: string = 'IdpError';
  readonly status: number;

  constructor(
    readonly code: ErrorCode,
    readonly details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
    /** @internal */
    { status, description }: ErrorEntry = errorTable[code],
  ) {
    super(description, options);
    this.status = status;
  }

  /** Returns whether the error is an `IdpError`. If codes are given, the error must have one of the codes. */
  static is(error: unknown, ...codes: readonly ErrorCode[]): error is IdpError {
    return error instanceof IdpError && codes.includes(error.code);
  }

  /** Returns a function for `catch`. The function returns undefined for an error with one of the codes. @throws every other error. */
  static unless(...codes: readonly ErrorCode[]): (error: unknown) => undefined {
    return (error) => {
      if (!IdpError.is(error, ...codes)) throw error;
      return undefined;
    };
  }
}

/** Creates errors with an extension's own codes. */
export interface ExtensionErrors<Code extends string> {
  /** Returns an error to throw. `details` are for the receiver of the answer and hold no secrets. `cause` is for logs only. */
  (code: Code, details?: Readonly<Record<string, unknown>>, options?: ErrorOptions): IdpError;
  /** Value for `errorCodes` of the extension. */
  readonly codes: Readonly<Record<Code, ErrorEntry>>;
}

/**
 * Adds codes to the table of errors. An error with such a code is answered in the same way as an error of the service.
 * @example
 * ```ts
 * import { defineErrors, type Extension } from 'tenant-idp/extension';
 *
 * const errors = defineErrors({ shop_closed: { status: 409, description: 'The shop is closed. Order when it opens.' } });
 * export const shop: Extension = {
 *   name: 'shop',
 *   errorCodes: errors.codes,
 *   errors: 'problem',
 *   routes(router) {
 *     router.postWithoutCsrf('/orders', () => {
 *       throw errors('shop_closed', { opensAt: '09:00' });
 *     });
 *   },
 * };
 * ```
 */
export function defineErrors<Code extends string>(codes: Readonly<Record<Code, ErrorEntry>>): ExtensionErrors<Code> {
  const make = (code: Code, details: Readonly<Record<string, unknown>> = {}, options?: ErrorOptions): IdpError =>
    new IdpError(code as never, details, options, codes[code]);
  return Object.assign(make, { codes });
}

/**
 * A part that a request needs is unavailable. Every outage gets the same answer, and the answer is never wrong. Koa and oidc-provider read these members of
 * errors. @see RFC 6749 §4.1.2.1
 */
export class UnavailableError extends IdpError {
  override readonly name = 'UnavailableError';
  readonly error_description: string;
  readonly statusCode = 503;
  readonly expose = true;
  readonly allow_redirect = true;

  constructor(
    code: 'store_unavailable' | 'clock_skewed' | 'claims_unavailable' | 'requirements_unavailable',
    details: Readonly<Record<string, unknown>>,
    options: ErrorOptions,
  ) {
    super(code, details, options);
    this.error_description = this.message;
    this.message = 'temporarily_unavailable';
  }
}

/**
 * Returns whether the outage or the overload behind an error was already logged, at the place of its detection. Requests that fail because of this outage
 * or overload are not logged again. An error with status 503 of an extension has not been logged.
 */
export const isToldAlready = (error: unknown): boolean =>
  error instanceof IdpError && error.status === 503 && Object.hasOwn(errorTable, error.code);

/** Members of an error of Node that name an address that could not be reached. */
const reached = ['code', 'syscall', 'address', 'port', 'hostname'] as const;

/** Returns the error of an outage with a stack of one line, because the stack does not help to explain the outage. */
export function outageOf(cause: unknown): Error {
  const { name, message } = cause instanceof Error ? cause : new Error(String(cause));
  const outage = new Error(message);
  outage.name = name;
  outage.stack = `${name}: ${message}`;
  for (const member of reached) {
    // Reads own members only. The members of a DOMException are getters of its class, and these getters throw here.
    const value = Object.getOwnPropertyDescriptor(cause ?? {}, member)?.value as unknown;
    if (value !== undefined) Object.assign(outage, { [member]: value });
  }
  return outage;
}

const deepest = (cause: unknown): unknown => (cause instanceof Error && cause.cause instanceof Error ? deepest(cause.cause) : cause);

/**
 * A store was unavailable when the service started. The error of the store is the `cause`. The message does not repeat the cause, because the cause may
 * contain a secret.
 */
export class StoreAwayError extends IdpError {
  override readonly name = 'StoreAwayError';

  constructor(kind: 'artifact' | 'directory', store: string, cause: unknown) {
    super('store_unavailable', { store }, { cause: outageOf(deepest(cause)) });
    this.message = [
      `The ${kind} store '${store}' is unavailable, so the service does not start.`,
      'Start the store, or fix its address or the network in between, and start the service again. [store_unavailable]',
    ].join(' ');
    this.stack = `${this.name}: ${this.message}`;
  }
}

/** A problem with the options: its path, the expected form, and the value (redacted if it may be secret). */
export interface ConfigProblem {
  /** Path in the options, as a developer would write it: `cookies.keys[0]`. */
  readonly path: string;
  readonly expected: string;
  /** The value, shortened. `[redacted]` if the value may be secret. Absent if there is no value. */
  readonly received?: string;
  readonly didYouMean?: string;
}

/** All problems with the options, in one error. */
export class ConfigError extends IdpError {
  override readonly name = 'ConfigError';

  constructor(
    code: 'invalid_options' | 'insecure_options' | 'extension_conflict',
    readonly problems: readonly ConfigProblem[],
  ) {
    super(code, { problems });
    const lines = problems.map(
      ({ path, expected, received, didYouMean }) =>
        `  ${path}: expected ${expected}${received === undefined ? '' : `, got ${received}`}${didYouMean ? ` (did you mean '${didYouMean}'?)` : ''}`,
    );
    this.message = [`${this.message} [${code}]`, ...lines].join('\n');
  }
}
