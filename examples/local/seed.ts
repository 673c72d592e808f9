/** Data of the demo: organisations, their users, their applications, and the API resource that the applications call. */

export const acme = { id: '01990000-0000-7000-8000-00000000ac3e', name: 'Acme' };
/** An organisation whose users sign in at its own provider, by the connection. */
export const vandelay = { id: '01990000-0000-7000-8000-0000000a4de1', name: 'Vandelay', connection: 'vandelay' };
export const globex = { id: '01990000-0000-7000-8000-000000610be8', name: 'Globex' };
/** An organisation whose users need a second factor. */
const initech = { id: '01990000-0000-7000-8000-0000001417ec', name: 'Initech' };

const identityScopes = ['openid', 'profile', 'email', 'phone', 'org', 'roles', 'perms', 'offline_access'];

/** Scopes that the relying party requests. */
export const webScopes = [...identityScopes, 'orders.read'];
export const spaScopes = identityScopes.filter((scope) => scope !== 'offline_access');

/** Scopes that the call centre requests. */
export const callCentreScopes = ['openid', 'profile', 'email', 'org'];

/** Scopes of the admin API that the back office uses. */
export const adminScopes = ['idp.persons:read', 'idp.persons:write', 'idp.invitations:write', 'idp.links:write', 'idp.events:read'];

/** Permission to open the back office. */
export const backOfficePermission = 'back-office.open';

/** Permission to impersonate other users of the same organisation. */
export const supportPermission = 'support.act-as';

/** Users of the demo, with their passwords. */
export const accounts = [
  { userName: 'alice@acme.test', password: 'alice', who: 'Alice at Acme' },
  { userName: 'alice@globex.test', password: 'alice', who: 'Alice at Globex, linked to alice@acme.test' },
  { userName: 'bob@globex.test', password: 'bob', who: 'Bob at Globex' },
  { userName: 'sven@globex.test', password: 'sven', who: 'Sven of support at Globex, who may sign in as its others' },
  { userName: 'ida@initech.test', password: 'ida', who: 'Ida at Initech, which requires a second factor' },
  { userName: 'vera@vandelay.test', password: undefined, who: 'Vera at Vandelay, who signs in at its own provider' },
  { userName: 'olga@acme.test', password: 'olga', who: 'Olga at Acme, who may open the back office' },
];

export const clients = [
  { id: 'web', secret: 'web-secret', what: 'Order desk, the relying party' },
  { id: 'spa', secret: undefined, what: 'the page at /spa, public' },
  { id: 'service', secret: 'service-secret', what: 'client_credentials, scope orders.read' },
  { id: 'call-centre', secret: 'call-centre-secret', what: 'CIBA, asks people to sign in on their own device' },
  { id: 'back-office', secret: 'back-office-secret', what: 'client_credentials, administers all tenants' },
  { id: 'orders', secret: 'orders-secret', what: 'API resource, owns scope orders.read' },
];

export interface OwnProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/**
 * @param rpOrigin origin of the relying party. @param ownProvider the provider at which users of {@link vandelay} sign in.
 * @param serviceProviders of SAML, if SAML is switched on.
 */
export const createSeed = (rpOrigin: string, ownProvider: OwnProvider, serviceProviders?: readonly object[]) => ({
  extensions: {
    ...(serviceProviders && { saml: { serviceProviders } }),
    connections: [
      {
        ...ownProvider,
        id: vandelay.connection,
        tenant: vandelay.name,
        name: vandelay.name,
        createUsersIn: vandelay.name,
        domains: ['vandelay.test'],
        endSession: true,
      },
    ],
  },
  permissions: [
    { id: 'orders.view', name: 'See orders' },
    { id: 'orders.approve', name: 'Approve orders' },
    { id: backOfficePermission, name: 'Open the back office' },
    { id: supportPermission, name: 'Sign in as others' },
  ],
  tenants: [
    {
      ...acme,
      organisationNumber: '910000001',
      branding: { accentColor: '#b45309' },
      groups: [
        { name: 'Sales', permissions: ['orders.view', 'orders.approve'] },
        { name: 'Operators', permissions: [backOfficePermission] },
      ],
      persons: [
        {
          givenName: 'Alice',
          familyName: 'Andersen',
          email: 'alice@acme.test',
          phoneNumber: '+4790000001',
          user: { userName: 'alice@acme.test', emailVerified: true, groups: ['Sales'], devPassword: 'alice' },
        },
        {
          givenName: 'Olga',
          familyName: 'Olsen',
          email: 'olga@acme.test',
          user: { userName: 'olga@acme.test', emailVerified: true, groups: ['Operators'], devPassword: 'olga' },
        },
      ],
    },
    {
      ...globex,
      organisationNumber: '910000002',
      branding: { accentColor: '#7c3aed' },
      groups: [
        { name: 'Warehouse', permissions: ['orders.view'] },
        { name: 'Support', permissions: [supportPermission] },
      ],
      persons: [
        {
          givenName: 'Alice',
          familyName: 'Andersen',
          email: 'alice@globex.test',
          user: {
            userName: 'alice@globex.test',
            emailVerified: true,
            groups: ['Warehouse'],
            linkedTo: { userName: 'alice@acme.test', tenant: acme.name },
          },
        },
        {
          givenName: 'Bob',
          familyName: 'Berg',
          email: 'bob@globex.test',
          user: { userName: 'bob@globex.test', emailVerified: true, groups: ['Warehouse'], devPassword: 'bob' },
        },
        {
          givenName: 'Sven',
          familyName: 'Strand',
          email: 'sven@globex.test',
          user: { userName: 'sven@globex.test', emailVerified: true, groups: ['Support'], devPassword: 'sven' },
        },
      ],
    },
    {
      ...initech,
      organisationNumber: '910000003',
      branding: { accentColor: '#0f766e' },
      signIn: { requireMfa: true },
      groups: [{ name: 'Office', permissions: ['orders.view'] }],
      persons: [
        {
          givenName: 'Ida',
          familyName: 'Iversen',
          email: 'ida@initech.test',
          user: { userName: 'ida@initech.test', emailVerified: true, groups: ['Office'], devPassword: 'ida' },
        },
      ],
    },
    { id: vandelay.id, name: vandelay.name, branding: { accentColor: '#be123c' }, signIn: { methods: [vandelay.connection] } },
  ],
  clients: [
    {
      id: 'web',
      name: 'Order desk',
      secret: 'web-secret',
      metadata: {
        client_uri: rpOrigin,
        redirect_uris: [`${rpOrigin}/callback`],
        post_logout_redirect_uris: [`${rpOrigin}/signed-out`],
        grant_types: ['authorization_code', 'refresh_token'],
      },
      allowedScopes: webScopes,
      postRegistrationUri: rpOrigin,
    },
    {
      id: 'spa',
      name: 'Order desk in the browser',
      metadata: {
        client_uri: `${rpOrigin}/spa`,
        redirect_uris: [`${rpOrigin}/spa`],
        post_logout_redirect_uris: [`${rpOrigin}/spa`],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'none',
      },
      allowedScopes: spaScopes,
    },
    {
      id: 'service',
      name: 'Nightly export',
      secret: 'service-secret',
      metadata: { grant_types: ['client_credentials'] },
      allowedScopes: ['orders.read'],
    },
    {
      id: 'call-centre',
      name: 'Call centre',
      secret: 'call-centre-secret',
      metadata: {
        grant_types: ['urn:openid:params:grant-type:ciba'],
        backchannel_token_delivery_mode: 'poll',
      },
      allowedScopes: callCentreScopes,
    },
    {
      id: 'back-office',
      name: 'Back office',
      secret: 'back-office-secret',
      metadata: { grant_types: ['client_credentials'] },
      allowedScopes: adminScopes,
      adminTenants: ['*'],
    },
  ],
  apiResources: [{ id: 'orders', name: 'Orders', secret: 'orders-secret', scopes: ['orders.read'] }],
});
