/** Records with sensible values, so that a test sets only the members that it is about. */
import { v7 as uuid } from 'uuid';
import type { Client, Group, Person, PersonWithUser, Subsidiary, Tenant, User } from '../../../lib/store/records/records.js';

const stored = () => ({ id: uuid(), version: 1, createdAt: new Date(0), updatedAt: new Date(0) });

export const tenant = (values: Partial<Tenant> = {}): Tenant => ({
  ...stored(),
  name: 'Acme',
  organisationNumber: '5560000001',
  status: 'active',
  ...values,
});

export const subsidiary = (values: Partial<Subsidiary> = {}): Subsidiary => ({
  ...stored(),
  tid: uuid(),
  name: 'Acme North',
  organisationNumber: '5560000002',
  ...values,
});

export const user = ({ userName = 'alice@acme.test', ...values }: Partial<User> = {}): User => ({
  id: uuid(),
  userName,
  userNameKey: userName.normalize('NFKC').toLowerCase(),
  emailVerified: true,
  isParent: false,
  groupIds: [],
  status: 'active',
  externalIdentities: [],
  externalIdentityKeys: [],
  ...values,
});

const personWithoutUser = (values: Partial<Omit<Person, 'user'>> = {}): Person => ({
  ...stored(),
  tid: uuid(),
  givenName: 'Alice',
  familyName: 'Andersson',
  email: 'alice@acme.test',
  phoneNumberVerified: false,
  attributes: {},
  pendingEvents: [],
  ...values,
});

export const person = ({ user: account = user(), ...values }: Partial<Person> = {}): PersonWithUser => ({
  ...personWithoutUser(values),
  user: account,
});

export const group = (values: Partial<Group> = {}): Group => ({
  ...stored(),
  tid: uuid(),
  name: 'Staff',
  permissionIds: [],
  ...values,
});

export const client = (values: Partial<Client> = {}): Client => ({
  ...stored(),
  id: 'web',
  name: 'Web',
  metadata: { redirect_uris: ['http://localhost:3001/callback'] },
  secrets: [],
  allowedScopes: ['openid', 'profile', 'email'],
  requirePkce: true,
  allowPlainPkce: false,
  requireConsent: false,
  accessTokenType: 'reference',
  idTokenClaims: 'minimal',
  email: 'all',
  lifetimes: {},
  introspects: 'own',
  adminTenants: [],
  trustedLoginHint: false,
  corsOrigins: [],
  status: 'active',
  ...values,
});
