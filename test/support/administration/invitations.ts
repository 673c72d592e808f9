/** Invitations of a service whose mails are captured. */
import type { IdentityProvider, MailMessage } from 'tenant-idp';
import { Agent, type Answer } from '../client/agent.js';
import { redirectUri, testSeed } from '../service/seed.js';
import { until } from '../time/until.js';

export const personalTenant = '0197a000-0000-7000-8000-00000000a001';
export const postRegistrationUri = 'http://127.0.0.1:9/welcome';
export const PASSWORD = 'a password that is long';

/** {@link testSeed} with a tenant for personal accounts, and a client to which users go after the acceptance. */
export const invitingSeed = {
  ...testSeed,
  tenants: [
    ...testSeed.tenants,
    {
      id: personalTenant,
      name: 'Personal',
      persons: [
        {
          givenName: 'Paula',
          familyName: 'Private',
          email: 'paula@home.test',
          user: { userName: 'paula@home.test', devPassword: 'paula' },
        },
      ],
    },
  ],
  clients: [
    ...testSeed.clients,
    {
      id: 'portal',
      name: 'The portal',
      secret: 'portal-secret',
      metadata: { redirect_uris: [redirectUri] },
      allowedScopes: ['openid', 'email', 'org'],
      styles: { accentColor: '#aa3300' },
      postRegistrationUri,
    },
  ],
};

export interface Captured {
  readonly mails: MailMessage[];
  readonly mail: { send(message: MailMessage): Promise<void> };
  /** Waits for a mail to an address, and returns the newest. */
  to(address: string): Promise<MailMessage>;
}

export function captureMail(): Captured {
  const mails: MailMessage[] = [];
  return {
    mails,
    mail: { send: async (message) => void mails.push(message) },
    to: async (address) => (await until(() => mails.findLast(({ to }) => to === address))) as MailMessage,
  };
}

export const linkIn = ({ text }: MailMessage): string => /https?:\S+\/invitations\/\S+/.exec(text)?.[0] ?? '';

export async function tenantNamed({ directory }: IdentityProvider, name: string): Promise<string> {
  const found = (await directory.tenants.find()).find((tenant) => tenant.name === name);
  if (!found) throw new Error(`no tenant ${name}`);
  return found.id;
}

let count = 0;
type Invited = Parameters<ReturnType<IdentityProvider['tenant']>['invitations']['createPerson']>;

/** Creates a person with a unique user name, and invites the person. Returns the invitation link, unless the link is mailed. */
export async function invite(
  idp: IdentityProvider,
  { tenant = 'Acme', ...input }: Partial<Invited[1]> & { readonly tenant?: string } = {},
  person: Partial<Invited[0]> = {},
) {
  count += 1;
  const userName = `guest-${count}@acme.test`;
  const tid = await tenantNamed(idp, tenant);
  const { invitations } = idp.tenant(tid);
  const made = await invitations.createPerson(
    { givenName: 'Gina', familyName: 'Guest', email: userName, ...person, user: { userName, ...person.user } },
    { send: false, ...input },
  );
  const url = input.send ? '' : (await invitations.link(made.invitation.id)).url;
  return { ...made, tid, invitations, userName, url };
}

/** Opens the invitation link, and posts the form of the page. */
export async function acceptIn(agent: Agent, url: string, fields: Record<string, string> = { password: PASSWORD }): Promise<Answer> {
  return agent.submit(await agent.get(url), fields);
}

/** Returns the page after an acceptance, or the redirect out of the service. */
export const acceptedIn = async (url: string, agent = new Agent()): Promise<Answer> => agent.follow(await acceptIn(agent, url));
