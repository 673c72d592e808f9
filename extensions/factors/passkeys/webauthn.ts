/** WebAuthn: options for browsers, and the check of their answers. `@simplewebauthn/server`, an optional peer dependency, checks the signatures. */
import { createRequire } from 'node:module';
import { isIP } from 'node:net';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import type { Context } from 'koa';
import { type ExtensionContext, formField, present } from '../../../lib/extension-door.js';
import type { Factor } from '../records.js';
import { type Challenges, createChallenges } from './challenges.js';

type Passkey = NonNullable<Factor['passkey']>;

const PEER = '@simplewebauthn/server';
const TIMEOUT_MS = 300_000;
/** Ed25519, ES256, RS256. @see RFC 9053 §2, RFC 8812 §2 */
const ALGORITHMS = [-8, -7, -257];

/**
 * Returns whether the service has passkeys: the peer dependency is installed, and the issuer's host is a domain, not an IP address.
 * @see WebAuthn Level 3 §5.1.2
 */
export function offersPasskeys(issuer: string): boolean {
  const { hostname, protocol } = new URL(issuer);
  if (isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return false;
  // Browsers support passkeys in secure contexts only.
  if (protocol !== 'https:' && hostname !== 'localhost' && !hostname.endsWith('.localhost')) return false;
  try {
    createRequire(import.meta.url).resolve(PEER);
    return true;
  } catch {
    return false;
  }
}

/** Answer of a browser, unchecked. */
export interface PasskeyAnswer<Response> {
  readonly response: Response;
  readonly credentialId: string;
  /** User id from the passkey, if the passkey contains one. */
  readonly userHandle?: string;
}

/** Maximum number of characters of an answer. The answer of a new passkey may contain certificates of its manufacturer. */
const LONGEST_ANSWER = 32_768;

/** Reads the answer of a browser from the posted form. Returns undefined for a malformed answer. */
export function readAnswer<Response extends AuthenticationResponseJSON | RegistrationResponseJSON>(
  ctx: Context,
): PasskeyAnswer<Response> | undefined {
  try {
    const response = JSON.parse(formField(ctx, 'response', LONGEST_ANSWER)) as Response;
    const { id, rawId, type, response: inner } = response;
    const isAnswer = typeof id === 'string' && /^[\w-]{1,1400}$/.test(id) && rawId === id && type === 'public-key' && isObject(inner);
    if (!isAnswer) return undefined;
    const { userHandle } = inner as { readonly userHandle?: unknown };
    const handle = typeof userHandle === 'string' ? Buffer.from(userHandle, 'base64url').toString() : undefined;
    return { response, credentialId: id, ...present({ userHandle: handle }) };
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

/** Creates a passkey that nobody has, because its private key is dropped. Checking this passkey takes as long as checking any other passkey. */
const newDecoy = async (): Promise<Passkey> => {
  const { privateKey: _, publicKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
  const { x = '', y = '' } = await crypto.subtle.exportKey('jwk', publicKey);
  // A COSE key of EC2, ES256, P-256. @see RFC 9053 §7.1.1
  const cose = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from(x, 'base64url')];
  const bytes = Buffer.concat([...cose, Buffer.from('225820', 'hex'), Buffer.from(y, 'base64url')]);
  return { credentialId: '', publicKey: bytes.toString('base64url'), counter: 0, transports: [] };
};

export class Webauthn {
  readonly #logger: ExtensionContext['service']['logger'];
  readonly #challenges: Challenges;
  readonly #origin: string;
  readonly #rpId: string;
  #decoy: Promise<Passkey> | undefined;

  constructor(context: ExtensionContext) {
    const { issuer, logger } = context.service;
    const { origin, hostname } = new URL(issuer);
    this.#logger = logger;
    this.#challenges = createChallenges(context);
    this.#origin = origin;
    this.#rpId = hostname;
  }

  /**
   * Returns the options with which a browser proves a passkey. @param passkeys passkeys of the user. An empty list allows any passkey that names its user.
   */
  requestOptions(subject: string, passkeys: readonly Passkey[], userVerification: 'required' | 'preferred') {
    return {
      challenge: this.#challenges.make(subject),
      rpId: this.#rpId,
      timeout: TIMEOUT_MS,
      userVerification,
      allowCredentials: passkeys.map(descriptorOf),
    };
  }

  /** Returns the options with which a browser creates a passkey. @param passkeys passkeys that the user has */
  creationOptions(
    subject: string,
    user: { readonly id: string; readonly name: string; readonly displayName: string },
    rpName: string,
    passkeys: readonly Passkey[],
  ) {
    return {
      challenge: this.#challenges.make(subject),
      rp: { id: this.#rpId, name: rpName },
      user: { ...user, id: Buffer.from(user.id).toString('base64url') },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      timeout: TIMEOUT_MS,
      attestation: 'none',
      authenticatorSelection: { residentKey: 'preferred', requireResidentKey: false, userVerification: 'preferred' },
      excludeCredentials: passkeys.map(descriptorOf),
    };
  }

  /**
   * Checks an answer for this subject, by this passkey, at this origin. Returns the counter of the passkey; undefined for an invalid answer.
   * @param passkey undefined for an unknown passkey. The check of an unknown passkey takes as long, and fails.
   */
  async verify(
    { response }: PasskeyAnswer<AuthenticationResponseJSON>,
    subject: string,
    passkey: Passkey | undefined,
    requireUserVerification: boolean,
  ): Promise<number | undefined> {
    this.#decoy ??= newDecoy();
    const { publicKey, transports } = passkey ?? (await this.#decoy);
    try {
      const { verifyAuthenticationResponse } = await library();
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response,
        ...this.#expected(subject),
        requireUserVerification,
        // The counter is compared in the write that records it.
        credential: {
          id: response.id,
          publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')),
          counter: 0,
          transports: [...transports] as never,
        },
      });
      return verified && passkey ? authenticationInfo.newCounter : undefined;
    } catch (err) {
      this.#logger.info({ err }, 'passkey refused');
      return undefined;
    }
  }

  /** Checks the answer of a new passkey, and returns the passkey; undefined for an invalid answer. */
  async verifyNew({ response }: PasskeyAnswer<RegistrationResponseJSON>, subject: string): Promise<Passkey | undefined> {
    try {
      const { verifyRegistrationResponse } = await library();
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response,
        ...this.#expected(subject),
        requireUserVerification: false,
        supportedAlgorithmIDs: ALGORITHMS,
      });
      if (!verified) return undefined;
      const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
      return {
        credentialId: id,
        publicKey: Buffer.from(publicKey).toString('base64url'),
        counter,
        transports: transports.map(String).slice(0, 8),
      };
    } catch (err) {
      this.#logger.info({ err }, 'new passkey refused');
      return undefined;
    }
  }

  #expected(subject: string) {
    return {
      expectedChallenge: (challenge: string) => this.#challenges.spend(subject, challenge),
      expectedOrigin: this.#origin,
      expectedRPID: this.#rpId,
    };
  }
}

const library = () => import('@simplewebauthn/server');

/** @see WebAuthn Level 3 §5.8.3 */
const descriptorOf = ({ credentialId: id, transports }: Passkey) => ({ type: 'public-key', id, transports });
