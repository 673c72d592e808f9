/** Sections of the account page that the extensions of the service have, users with data on each page, and the forms of a page. */
import { randomUUID } from 'node:crypto';
import { standardExtensions } from '../../extensions/index.js';
import { type Captured, captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, signIn } from '../support/client/agent.js';
import type { TestIdpOptions } from '../support/service/idp.js';
import type { IdpInUse } from '../support/service/use-idp.js';
import { operatorOptions, operatorSeed } from '../support/sign-in/impersonating.js';
import { NEW_PASSWORD, pkce } from '../support/sign-in/passwords.js';
import { type Upstream, upstreamMethod } from '../support/sign-in/upstream-method.js';

export interface SectionPage {
  readonly name: string;
  /** Path of the page, below the issuer. */
  readonly path: string;
}

/** All sections of the service, so that a new section is in every test of them. */
export const sections: readonly SectionPage[] = standardExtensions()
  .flatMap(({ accountSections = [] }) => accountSections)
  .map(({ name, href }) => ({ name, path: href({ service: { own: '/idp', url: (path) => path }, work: { mail: {} } }) ?? '' }));

/** A user who has a linked child account, an identity, a consent, and a session in another browser. */
export interface Subject {
  readonly email: string;
  readonly oid: string;
  readonly tid: string;
  readonly child: { readonly userName: string; readonly oid: string; readonly tid: string };
}

const CONNECTION = 'social';

export class SectionWorld {
  readonly captured: Captured = captureMail();
  readonly upstream: Upstream = { subject: '', seen: [] };
  readonly #service: () => IdpInUse;

  constructor(service: () => IdpInUse) {
    this.#service = service;
  }

  options(): TestIdpOptions {
    const connection = {
      id: CONNECTION,
      name: 'Social',
      linkBySignIn: true,
      issuer: 'https://up.example',
      clientId: 'c',
      clientSecret: 's',
    };
    return {
      ...operatorOptions,
      seed: { ...operatorSeed, extensions: { connections: [connection] } } as never,
      mail: this.captured.mail,
      lifetimes: { sessionIdle: 43_200 },
      limits: { signInFailuresPerAddress: 100_000 },
      extensions: [upstreamMethod('eid', this.upstream)],
    };
  }

  at(path: string): string {
    return this.#service().issuer + path;
  }

  begin(parameters: Record<string, string> = {}): string {
    return authorizeUrl(this.#service().issuer, { ...pkce, ...parameters });
  }

  /** Creates a user whose password is `old`. */
  async subject(): Promise<Subject> {
    const { idp } = this.#service();
    const [tid, elsewhere] = [await tenantNamed(idp, 'Acme'), await tenantNamed(idp, 'Globex')];
    const name = randomUUID().slice(0, 8);
    const email = `section-${name}@acme.test`;
    const made = await idp.tenant(tid).persons.create({
      givenName: 'Sec',
      familyName: 'Tion',
      email,
      phoneNumber: '+4780000000',
      user: { userName: email, emailVerified: true, status: 'active' },
    });
    const oid = made.user?.id ?? '';
    await idp.directory.credentials.seedPassword(oid, 'old');
    const userName = `section-${name}@globex.test`;
    const { user } = await idp
      .tenant(elsewhere)
      .persons.create({ givenName: 'Chi', familyName: 'Ld', user: { userName, status: 'active' } });
    const child = { userName, oid: user?.id ?? '', tid: elsewhere };
    await idp.tenant(elsewhere).linking.link(child.oid, { tid, userId: oid });
    for (const subject of [`one-of-${oid}`, `other-of-${oid}`]) await idp.tenant(tid).users.addIdentity(oid, { idp: CONNECTION, subject });
    const who = { email, oid, tid, child };
    const other = await this.signedIn(who);
    const consent = await other.follow(await other.get(this.begin({ client_id: 'third-party', scope: 'openid profile offline_access' })));
    await other.follow(await other.submit(consent, { decision: 'allow' }));
    return who;
  }

  async signedIn({ email }: Pick<Subject, 'email'>, agent: Agent = new Agent()): Promise<Agent> {
    await signIn(agent, this.begin(), email, 'old');
    return agent;
  }

  /** Signs in by an e-ID, which requires no second factor. */
  async byEid({ oid, tid }: Subject): Promise<Agent> {
    const agent = new Agent();
    this.upstream.subject = randomUUID();
    await this.#service().idp.tenant(tid).users.addIdentity(oid, { idp: 'eid', subject: this.upstream.subject });
    await agent.follow(await agent.get(this.begin({ acr_values: 'idp:eid' })));
    return agent;
  }
}

/** A form of a page with one of its buttons pressed. */
export interface PressedForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Name of the button. */
  readonly button: string;
  /** Names of the inputs into which users type. */
  readonly typed: readonly string[];
}

/** Values that a user types into inputs. */
const typed: Readonly<Record<string, string>> = { current: 'old', password: NEW_PASSWORD, code: '123456' };

const unescaped = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, entity: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[entity] as string);
const attributeOf = (tag: string, name: string): string | undefined => {
  const value = new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
  return value === undefined ? undefined : unescaped(value);
};

/** Returns an option that a user may choose, other than the selected option. */
function otherOption(select: string): string {
  const options = [...select.matchAll(/<option\b[^>]*>/g)].map(([tag]) => tag);
  const chosen = options.find((tag) => !/\sselected\b/.test(tag) && attributeOf(tag, 'value') !== '');
  if (chosen === undefined) throw new Error(`no other option in ${select}`);
  return attributeOf(chosen, 'value') ?? '';
}

/** Returns the posted forms of a page, once for each button, filled in as a user would fill them in. */
export function formsOf({ body, url }: Pick<Answer, 'body' | 'url'>): readonly PressedForm[] {
  return [...body.matchAll(/<form\b[^>]*method="post"[^>]*>[\s\S]*?<\/form>/g)].flatMap(([form]) => {
    const fields: Record<string, string> = {};
    const inputs = [...form.matchAll(/<input\b[^>]*>/g)].map(([tag]) => tag);
    const typedInto = inputs.filter((tag) => /^(?:text|password)$/.test(attributeOf(tag, 'type') ?? '') && !/\sreadonly\b/.test(tag));
    for (const [list, tag = ''] of form.matchAll(/(<select\b[^>]*>)[\s\S]*?<\/select>/g))
      fields[attributeOf(tag, 'name') ?? ''] = otherOption(list);
    for (const tag of inputs) {
      const name = attributeOf(tag, 'name');
      const kind = attributeOf(tag, 'type');
      if (name === undefined || (kind === 'checkbox' && !/\schecked/.test(tag))) continue;
      fields[name] = attributeOf(tag, 'value') || (typed[name] ?? (kind === 'hidden' ? '' : 'Sample'));
    }
    if ('email' in fields) fields.email = `${randomUUID()}@wanted.test`;
    const action = new URL(attributeOf(form, 'action') ?? url, url).href;
    const buttons = [...form.matchAll(/<button\b[^>]*type="submit"[^>]*>/g)].map(([tag]) => tag);
    return buttons.map((tag) => {
      const [name, value = ''] = [attributeOf(tag, 'name'), attributeOf(tag, 'value')];
      return {
        action,
        fields: { ...fields, ...(name !== undefined && { [name]: value }) },
        button: name ?? '',
        typed: typedInto.flatMap((input) => attributeOf(input, 'name') ?? []),
      };
    });
  });
}

/** Returns the pages below the page of a section, to which its links lead. */
const pagesBelow = ({ path }: SectionPage, { body, url }: Answer): readonly string[] => [
  ...new Set(
    [...body.matchAll(/<a\b[^>]*href="([^"]+)"/g)]
      .map(([, href = '']) => new URL(unescaped(href), url))
      .filter(({ pathname }) => pathname.startsWith(`${path}/`))
      .map(({ href }) => href),
  ),
];

/** Returns the page of a section, and the pages below it, as the agent gets them. */
export async function pagesOfSection(agent: Agent, url: string, section: SectionPage): Promise<readonly Answer[]> {
  const page = await agent.follow(await agent.get(url));
  const below = await Promise.all(pagesBelow(section, page).map(async (href) => agent.follow(await agent.get(href))));
  return [page, ...below].filter((each) => new URL(each.url).pathname.startsWith(section.path));
}

/** Names of the buttons of questions, such as “Remove this factor?”, by the names of the buttons that lead to the questions. */
export type Questions = ReadonlyMap<string, string>;

/** Posts the forms, and returns the questions to which they lead. */
export async function questionsOf(agent: Agent, forms: readonly PressedForm[]): Promise<Questions> {
  const found = new Map<string, string>();
  for (const { action, fields, button } of forms) {
    if (button === '') continue;
    const answer = await agent.follow(await agent.post(action, fields));
    for (const asked of formsOf(answer))
      if (asked.button !== button && asked.fields[asked.button] === fields[button]) found.set(button, asked.button);
  }
  return found;
}

/** Returns all forms that a signed-in user can post on the pages of a section, including the forms of questions. */
export async function formsOfSection(
  agent: Agent,
  url: string,
  section: SectionPage,
  questions: Questions = new Map(),
): Promise<readonly PressedForm[]> {
  const forms = (await pagesOfSection(agent, url, section)).flatMap(formsOf);
  return forms.flatMap((form) => {
    const asked = questions.get(form.button);
    if (asked === undefined) return [form];
    const { [form.button]: value = '', ...fields } = form.fields;
    return [form, { ...form, fields: { ...fields, [asked]: value }, button: asked }];
  });
}
