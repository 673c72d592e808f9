import { createPrivateKey } from 'node:crypto';
import { loadavg } from 'node:os';
import samlify from 'samlify';
import { createCertifiedKey, createSigner } from '../extensions/saml/entities/certificate.js';
import { type ReleasedAttribute, responseXml } from '../extensions/saml/messages/response.js';
import { postFields } from '../extensions/saml/messages/send.js';
import { newMessageId } from '../extensions/saml/xml/write.js';
import { pemOf } from '../test/support/saml/keys/test-keys.js';
import { acsUrl, idpEntityId, persistent, signed, spEntityId, successOf } from '../test/support/saml/outbound/messages.js';
import { nodeSaml } from '../test/support/saml/outbound/verifiers.js';
import type { Slice } from './requests/load.js';
import { compare, comparisonCells, controlCells, fixed, formatTable, isNoisy, speedCell, TOLERANCE } from './results/comparison.js';
import { settings } from './settings.js';

const { Constants, IdentityProvider, SamlLib, ServiceProvider, setSchemaValidator } = samlify;

/** Turns of each participant before the measurement. */
const WARM_UP = 4;

/** Returns the fields of a form that a browser posts. */
type Write = () => Promise<Record<string, string>>;

interface SamlRow {
  readonly name: string;
  /** Minimum ratio of this library's speed to samlify's. */
  readonly goal: number;
  readonly isEncrypted: boolean;
}

const samlRows: readonly SamlRow[] = [
  { name: 'SAML response, signed', goal: 8, isEncrypted: false },
  { name: 'SAML response, signed and encrypted', goal: 2, isEncrypted: true },
];

/** Eight attributes with 25 values. */
const attributes: readonly ReleasedAttribute[] = [
  ...Object.entries({ sub: '0197a000-0000-7000-8000-000000000001', oid: '0197a000-0000-7000-8000-000000000002', tid: 'acme' }),
  ...Object.entries({ given_name: 'Zoë', family_name: 'O’Hara & Söhne', email: 'zoe@acme.test' }),
].map(([name, value]): ReleasedAttribute => ({ name, values: [value] }));
const many = (name: string, count: number): ReleasedAttribute => ({
  name,
  values: Array.from({ length: count }, (_, index) => `${name}.of.orders.${index}`),
});
const released = [...attributes, many('role', 5), many('perm', 14)];

/** Compares responses to POST of samlify and this library. The responses have the same content under the same signing key. */
export async function measureSaml(): Promise<string> {
  const load = loadavg()[0] ?? 0;
  const [idp, sp] = await Promise.all([
    createCertifiedKey('idp.example.com', Date.now()),
    createCertifiedKey('sp.example.com', Date.now()),
  ]);
  setSchemaValidator({ validate: async () => 'not asked' });

  const oursOf = ({ isEncrypted }: SamlRow): Write => {
    const signer = createSigner(createPrivateKey(idp.key), idp.certificate);
    const serviceProvider = isEncrypted
      ? ({ ...signed, encryption: 'aes256-gcm', encryptionCertificate: sp.certificate } as const)
      : signed;
    return async () => {
      const parts = successOf({ attributes: released });
      return postFields('SAMLResponse', responseXml(parts, { signer, serviceProvider }), undefined);
    };
  };

  /** Returns responses of samlify, set up as its documentation shows: keys as PEM, and a template for parts that its default lacks. */
  const samlifyOf = ({ isEncrypted }: SamlRow): Write => {
    const { context, values } = template();
    const post = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST';
    const provider = IdentityProvider({
      entityID: idpEntityId,
      privateKey: idp.key,
      signingCert: pemOf(idp.certificate),
      singleSignOnService: [{ Binding: post, Location: 'https://idp.example.com/idp/saml/sso' }],
      singleLogoutService: [{ Binding: post, Location: 'https://idp.example.com/idp/saml/slo' }],
      requestSignatureAlgorithm: Constants.algorithms.signature.RSA_SHA256,
      loginResponseTemplate: { context, attributes: [] },
      isAssertionEncrypted: isEncrypted,
      dataEncryptionAlgorithm: 'http://www.w3.org/2009/xmlenc11#aes256-gcm',
      keyEncryptionAlgorithm: 'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
    } as never);
    const receiver = ServiceProvider({
      entityID: spEntityId,
      wantAssertionsSigned: true,
      assertionConsumerService: [{ Binding: post, Location: acsUrl }],
      ...(isEncrypted ? { encryptCert: pemOf(sp.certificate) } : {}),
    } as never);
    const request = { extract: { request: { id: '_request' } } };
    return async () => {
      const now = new Date();
      const later = new Date(now.getTime() + 300_000).toISOString();
      const tags = { ...values, ID: newMessageId(), AssertionID: newMessageId(), IssueInstant: now.toISOString(), NotOnOrAfter: later };
      const made = await provider.createLoginResponse(receiver, request as never, 'post', {}, (text: string) => ({
        id: tags.ID,
        context: SamlLib.replaceTagsByValue(text, tags),
      }));
      return { SAMLResponse: made.context };
    };
  };

  /** Returns what node-saml reads of a response. The result has to be the same for both libraries. */
  const readBy = async (write: Write): Promise<string> => {
    const receiver = nodeSaml(pemOf(idp.certificate), { wantAssertionsSigned: true, decryptionPvk: sp.key });
    const { profile } = await receiver.validatePostResponseAsync((await write()) as { SAMLResponse: string });
    if (!profile) throw new Error('nobody is signed in by it');
    return JSON.stringify([profile.issuer, profile.nameID, profile.nameIDFormat, profile.sessionIndex, profile.attributes]);
  };

  const lines: string[][] = [];
  const problems: string[] = [];
  for (const row of samlRows.filter(({ name }) => settings.isWanted(name))) {
    const participants = { samlify: samlifyOf(row), ours: oursOf(row), again: samlifyOf(row) };
    const said = await Promise.all(Object.values(participants).map(readBy));
    if (new Set(said).size !== 1) throw new Error(`${row.name}: not the same content: ${said.join('\n')}`);
    const { samlify: base, ours, again } = await takeTurns(participants);
    const [comparison, control] = [compare(base, ours), compare(base, again)];
    lines.push([row.name, speedCell(base), speedCell(ours), ...comparisonCells(comparison), ...controlCells(control)]);
    if (comparison && Math.min(comparison.speed, comparison.cpu) < row.goal) problems.push(`Below ${fixed(row.goal)}: ${row.name}.`);
    if (isNoisy(control))
      problems.push(`samlify is more than ${TOLERANCE * 100} % apart from itself, so this row proves nothing: ${row.name}.`);
  }
  return [
    formatTable(['Response', 'samlify, 1/s', 'Ours, 1/s', 'Ours / samlify [95 %]', 'CPU', 'samlify / samlify', 'CPU'], lines),
    ...(problems.length > 0 ? problems : ['Every row meets its goal.']),
    `Load of the machine at the start: ${fixed(load)}.`,
  ].join('\n\n');
}

/** Returns slices of each participant, round by round. Each participant is first equally often. */
async function takeTurns<Name extends string>(participants: Readonly<Record<Name, Write>>): Promise<Record<Name, Slice[]>> {
  const all = Object.entries(participants) as [Name, Write][];
  const slices = Object.fromEntries(all.map(([name]) => [name, []])) as unknown as Record<Name, Slice[]>;
  for (let round = -WARM_UP; round < settings.rounds; round += 1) {
    const shift = (round + WARM_UP) % all.length;
    for (const [name, write] of [...all.slice(shift), ...all.slice(0, shift)]) {
      const slice = await takeTurn(write);
      if (round >= 0) slices[name].push(slice);
    }
  }
  return slices;
}

async function takeTurn(write: Write): Promise<Slice> {
  const [start, before] = [performance.now(), process.cpuUsage()];
  let count = 0;
  let elapsed = 0;
  for (; elapsed < settings.slice; elapsed = performance.now() - start) {
    await write();
    count += 1;
  }
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (count * 1000) / elapsed, cpuPerRequest: (user + system) / count };
}

/** Returns the response as samlify fills it in: the response of this library, with a tag in the place of each value. */
function template(): { readonly context: string; readonly values: Readonly<Record<string, string>> } {
  const values: Record<string, string> = {
    Destination: acsUrl,
    Issuer: idpEntityId,
    Audience: spEntityId,
    InResponseTo: '_request',
    NameID: persistent.value,
    NameIDFormat: persistent.format,
    SessionIndex: 'session-1',
    ContextClass: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
  };
  const statement = released.map(({ name, values: own }) => {
    const each = own.map((value, index) => {
      const tag = `attr${name.replaceAll('_', '')}${index}`;
      values[tag] = value;
      return `<saml:AttributeValue>{${tag}}</saml:AttributeValue>`;
    });
    const format = 'urn:oasis:names:tc:SAML:2.0:attrname-format:basic';
    return `<saml:Attribute Name="${name}" NameFormat="${format}">${each.join('')}</saml:Attribute>`;
  });
  const context =
    '<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"' +
    ' Destination="{Destination}" ID="{ID}" InResponseTo="{InResponseTo}" IssueInstant="{IssueInstant}" Version="2.0">' +
    '<saml:Issuer>{Issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>' +
    '<saml:Assertion ID="{AssertionID}" IssueInstant="{IssueInstant}" Version="2.0" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">' +
    '<saml:Issuer>{Issuer}</saml:Issuer><saml:Subject><saml:NameID Format="{NameIDFormat}">{NameID}</saml:NameID>' +
    '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData' +
    ' InResponseTo="{InResponseTo}" NotOnOrAfter="{NotOnOrAfter}" Recipient="{Destination}"/></saml:SubjectConfirmation></saml:Subject>' +
    '<saml:Conditions NotBefore="{IssueInstant}" NotOnOrAfter="{NotOnOrAfter}"><saml:AudienceRestriction><saml:Audience>{Audience}' +
    '</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="{IssueInstant}"' +
    ' SessionIndex="{SessionIndex}"><saml:AuthnContext><saml:AuthnContextClassRef>{ContextClass}</saml:AuthnContextClassRef>' +
    `</saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>${statement.join('')}</saml:AttributeStatement>` +
    '</saml:Assertion></samlp:Response>';
  return { context, values };
}
