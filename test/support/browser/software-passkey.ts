/** A passkey without a browser: an ES256 key that answers the pages as an authenticator does. @see WebAuthn Level 3 §6.1, §6.5.4 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { type Agent, type Answer, formOf } from '../client/agent.js';
import { submit } from '../sign-in/factors.js';

interface Asked {
  readonly url: string;
  readonly options: {
    readonly challenge: string;
    readonly rpId?: string;
    readonly rp?: { readonly id: string };
    readonly user?: { readonly id: string };
  };
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();
const base64url = (data: string | Buffer): string => Buffer.from(data).toString('base64url');
const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);

/** Returns the request of a page's script to the browser. */
function askedOn({ body, url }: Pick<Answer, 'body' | 'url'>): Asked {
  const [, value] = /data-action="passkey"[^>]*data-value="([^"]*)"/.exec(body) ?? [];
  if (value === undefined) throw new Error(`no passkey is asked for on ${url}`);
  return JSON.parse(value.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')) as Asked;
}

export interface SoftwarePasskey {
  /** Creates the passkey on the page that sets up a factor, and finishes the sign-in. */
  enrolOn(agent: Agent, page: Answer): Promise<Answer>;
  /** Proves the passkey on a page that signs in by a passkey. */
  proveOn(agent: Agent, page: Answer): Promise<Answer>;
}

export function createSoftwarePasskey(issuer: string): SoftwarePasskey {
  const { origin } = new URL(issuer);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const credentialId = randomBytes(16);
  let userHandle = '';

  /** Returns authenticator data with user present and user verified. `attested`: credential data, when the passkey is created. */
  const authData = (rpId: string, attested?: Buffer): Buffer =>
    Buffer.concat([sha256(rpId), Buffer.from([attested ? 0x45 : 0x05]), Buffer.alloc(4), ...(attested ? [attested] : [])]);
  const clientData = (type: string, challenge: string): string => JSON.stringify({ type, challenge, origin, crossOrigin: false });
  const post = (agent: Agent, page: Answer, url: string, response: object): Promise<Answer> => {
    const id = base64url(credentialId);
    const answer = JSON.stringify({ id, rawId: id, type: 'public-key', response, clientExtensionResults: {} });
    return agent.post(url, { ...formOf(page).fields, response: answer }).then((posted) => agent.follow(posted));
  };

  return {
    async enrolOn(agent, page) {
      const { url, options } = askedOn(page);
      userHandle = options.user?.id ?? '';
      const key = [
        Buffer.from('a5010203262001215820', 'hex'),
        Buffer.from(x, 'base64url'),
        Buffer.from('225820', 'hex'),
        Buffer.from(y, 'base64url'),
      ];
      const data = authData(options.rp?.id ?? '', Buffer.concat([Buffer.alloc(16), uint16(credentialId.length), credentialId, ...key]));
      // A map of fmt "none", attStmt {} and authData. @see RFC 8949
      const attestation = Buffer.concat([
        Buffer.from('a363666d74646e6f6e656761747453746d74a068617574684461746159', 'hex'),
        uint16(data.length),
        data,
      ]);
      const codes = await post(agent, page, url, {
        clientDataJSON: base64url(clientData('webauthn.create', options.challenge)),
        attestationObject: base64url(attestation),
        transports: ['internal'],
      });
      return submit(agent, codes, {});
    },

    async proveOn(agent, page) {
      const { url, options } = askedOn(page);
      const data = authData(options.rpId ?? '');
      const client = clientData('webauthn.get', options.challenge);
      return post(agent, page, url, {
        clientDataJSON: base64url(client),
        authenticatorData: base64url(data),
        signature: base64url(sign('sha256', Buffer.concat([data, sha256(client)]), privateKey)),
        userHandle,
      });
    },
  };
}
