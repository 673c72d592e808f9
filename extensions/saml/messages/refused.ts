/** Reasons why messages are refused: one table for the page, the log and the docs. */
import { MAX_RELAY_STATE_BYTES } from '../service-providers/records.js';
import { malformations } from '../xml/malformed.js';
import { badSignatures } from '../xml/signature.js';

export const refusals = {
  method: 'Messages come by GET and by POST.',
  query_too_long: 'The query is longer than 16 KiB.',
  form_too_long: 'The form is longer than 56 kB.',
  parameters_malformed: 'The parameters cannot be decoded.',
  duplicate_parameter: 'A parameter is there twice, or a request and a response are there together.',
  message_missing: 'There is neither `SAMLRequest` nor `SAMLResponse`.',
  relay_state_too_long: `\`RelayState\` is longer than ${MAX_RELAY_STATE_BYTES.toLocaleString('en')} bytes.`,
  encoding_unsupported: '`SAMLEncoding` is not DEFLATE.',
  base64: 'The message, or its signature, is not in base64.',
  inflate_failed: 'The message is not compressed as DEFLATE says.',
  inflate_too_large: 'The message is larger than 64 KiB.',
  ...malformations,
  message_kind: 'The message is none that is answered here.',
  version: 'The message is not of SAML 2.0.',
  message_id: 'The ID of the message is no name in ASCII of at most 256 characters.',
  unknown_service_provider: 'No service provider that is active here has the entityID of the issuer.',
  not_signed: 'The message has to be signed.',
  signature_incomplete: '`SigAlg` and `Signature` come together.',
  signature_enveloped: 'A message in a URL is signed in the URL.',
  ...badSignatures,
  too_many_bad_signatures: 'Too many signatures from this network were wrong.',
  destination_missing: 'The message is signed, and does not say for which address.',
  destination_mismatch: 'The message is for another address.',
  issue_instant: 'The message was issued too long ago, or in the future.',
  expired: 'The message has expired.',
  replayed: 'The message was here before.',
  encrypted_id_unsupported: 'Whom the message is about is encrypted, or not a `NameID`.',
  too_much_to_keep: 'What has to be remembered of the request is longer than 8 KiB.',
  acs_ambiguous: 'The request names a place for the response by its index and by its URL.',
  acs_not_registered: 'The request wants its response at a place that is not registered.',
  not_idp_initiated: 'No service provider of this name takes sign-ins that begin here.',
  unknown_principal: 'The request is about nobody who is signed in here by this service provider.',
  not_pending: 'Nobody waits for this answer of the service provider, or not any more.',
} as const;

export type Refusal = keyof typeof refusals;

/** Settings that the log names if a message differs from the registration. */
const settings = {
  unknown_service_provider: 'entityId of the service provider, here and at the service provider',
  signature_reference: 'entityId of the service provider',
  destination_missing: 'Destination, which the service provider writes into signed messages',
  destination_mismatch: 'the URL of the identity provider at the service provider, or the option issuer, which all URLs here follow',
  issue_instant: 'the clock of the service provider, or the option clockSkewSeconds',
  expired: 'the clock of the service provider, or the option clockSkewSeconds',
  acs_not_registered: 'assertionConsumerServices of the service provider',
  not_idp_initiated: 'idpInitiated of the service provider, or the parameter sp of the link',
} as const satisfies Partial<Readonly<Record<Refusal, string>>>;

/** The part of a message that differs from the registration. Only the log has this part, because the page must not show text of strangers. */
export interface Mismatch {
  /** Received value; undefined for a missing part. */
  readonly received: string | number | undefined;
  readonly expected: string;
  /** Whether the received value is an entityID or an id of a service provider, which is logged even if it is not a URI. @default false */
  readonly isParty?: boolean;
}

/** Thrown for a message that is refused. */
export class RefusedMessage extends Error {
  override readonly name = 'RefusedMessage';
  /** HTTP status of the page: 429 after too many invalid signatures, else 400. */
  readonly status: number;
  /** Element or attribute that is invalid. */
  readonly place?: string;
  /** The differing part. Each value is one line of 1,024 characters at most. */
  readonly mismatch?: Readonly<Record<'received' | 'expected', string>>;
  /** Setting to compare. */
  readonly setting?: string;
  /** Id of the service provider that the message claims to be from, if it is registered. */
  serviceProviderId?: string;

  constructor(
    readonly reason: Refusal,
    {
      place,
      mismatch,
      serviceProviderId,
    }: { readonly place?: string | undefined; readonly mismatch?: Mismatch; readonly serviceProviderId?: string } = {},
  ) {
    super(refusals[reason]);
    this.status = reason === 'too_many_bad_signatures' ? 429 : 400;
    if (place !== undefined) this.place = place;
    if (serviceProviderId !== undefined) this.serviceProviderId = serviceProviderId;
    if (mismatch) {
      const { received, expected, isParty = false } = mismatch;
      const isName = isParty && typeof received === 'string' && ENTITY_ID.test(received);
      this.setting = settings[reason as keyof typeof settings];
      this.mismatch = { received: shown(isName ? received : identifying(received)), expected: shown(expected) };
    }
  }
}

/** Form of a registrable entityID. */
const ENTITY_ID = /^[!-~]{1,1024}$/;

const shown = (value: string | number | undefined): string =>
  value === undefined
    ? 'nothing'
    : String(value)
        .slice(0, 1024)
        .replace(/[^ -~]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/**
 * Returns a value that may be logged. URIs, numbers and instants identify parties and times. Other text of a stranger may name persons, so it is not
 * logged.
 */
const identifying = (value: string | number | undefined): string | number | undefined =>
  typeof value === 'string' && !/^(?:[a-z][a-z0-9+.-]*:|[\d-])/i.test(value) ? 'a text that is no URI' : value;
