/** Reasons why messages are refused: one table for the page, the log and the docs. */
import { MAX_RELAY_STATE_BYTES } from '../service-providers/records.js';
import { malformations } from '../xml/malformed.js';
import { badSignatures } from '../xml/signature.js';

export const refusals = {
  method: 'The request method is neither GET nor POST. Send the message by GET or by POST.',
  query_too_long: 'The query is longer than 16 KiB. Send the message by POST.',
  form_too_long: 'The form is longer than 56 kB. Send a shorter message.',
  parameters_malformed: 'The parameters of the query or form are malformed. Encode each parameter once, as the binding requires.',
  duplicate_parameter:
    'A parameter is duplicate, or `SAMLRequest` and `SAMLResponse` are both present. Send one message, and each parameter once.',
  message_missing: '`SAMLRequest` and `SAMLResponse` are missing. Send one of them.',
  relay_state_too_long: `\`RelayState\` is longer than ${MAX_RELAY_STATE_BYTES.toLocaleString('en')} bytes. Send a shorter \`RelayState\`.`,
  encoding_unsupported: '`SAMLEncoding` is not DEFLATE. Leave `SAMLEncoding` out, and compress the message with DEFLATE.',
  base64: 'The message, or its signature, is not base64. Encode both as base64.',
  inflate_failed: 'The message in the URL is not compressed with DEFLATE. Compress the message with raw DEFLATE (RFC 1951).',
  inflate_too_large: 'The decompressed message is larger than 64 KiB. Send a smaller message.',
  ...malformations,
  message_kind:
    'The address does not accept this kind of message in this parameter. Send an `AuthnRequest` to `sso`, and a `LogoutRequest` or `LogoutResponse` to `slo`.',
  version: 'The version of the message is not 2.0. Send SAML 2.0.',
  message_id: 'The ID of the message is not an ASCII name of at most 256 characters. Send such an ID.',
  unknown_service_provider:
    'The entity has no active service provider with the entityID of the issuer. Register the service provider at this entity, or correct the entityID.',
  not_signed: 'The message is not signed. Sign the message with a registered signing key.',
  signature_incomplete: '`SigAlg` or `Signature` is missing. Send both parameters, or neither.',
  signature_enveloped: 'The message in the URL has its signature in the XML. Sign the URL instead.',
  ...badSignatures,
  too_many_bad_signatures: 'Too many messages from this network had invalid signatures. Correct the signing key, and retry later.',
  destination_missing: 'The message is signed and has no `Destination`. Send the URL of the service in `Destination`.',
  destination_mismatch:
    '`Destination` is another address than the address that got the message. Compare the registered URL of the identity provider with `issuer`.',
  issue_instant: '`IssueInstant` is too long ago, or in the future. Set the clock of the service provider (NTP).',
  expired: 'The message has expired. Restart at the service provider, and check its clock.',
  replayed: 'A message with this ID was used before. Send a new message.',
  encrypted_id_unsupported: 'The subject of the message is encrypted, or is not a `NameID`. Send an unencrypted `NameID`.',
  too_much_to_keep: 'The service would have to store more than 8 KiB for the request. Send a shorter request.',
  acs_ambiguous: 'The request has both `AssertionConsumerServiceIndex` and `AssertionConsumerServiceURL`. Send one of them.',
  acs_not_registered: 'The assertion consumer service of the request is not registered. Register its URL, or correct the request.',
  not_idp_initiated:
    'No service provider with this name allows sign-ins that begin at the service. Correct `sp` in the link, or set `idpInitiated` of the service provider.',
  unknown_principal:
    'The logout request does not name the session of this browser. Send the NameID and `SessionIndex` of the last assertion.',
  not_pending:
    'The service does not wait for this answer of the service provider, or no longer waits for it. Restart the sign-out if it did not finish.',
} as const;

export type Refusal = keyof typeof refusals;

/** Settings that the log names if a message differs from the registration. */
const settings = {
  unknown_service_provider: 'entityId in the record, and in the configuration of the service provider',
  signature_reference:
    'The signature does not cover the whole message. Send one signature directly below the root, with one reference to the ID of the root.',
  destination_missing: 'Destination, which the service provider writes into signed messages',
  destination_mismatch:
    'the URL of the identity provider at the service provider, or the option issuer, which all URLs of the service follow',
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
  typeof value === 'string' && !/^(?:[a-z][a-z0-9+.-]*:|[\d-])/i.test(value) ? 'a text that is not a URI' : value;
