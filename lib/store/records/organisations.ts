/** Tenants, their subsidiaries and groups, and the permissions that groups give. */
import { Type } from '@sinclair/typebox';
import { inputSchema, languageTag, line, strings, token } from '../../text/schemas.js';
import { oneOf, type Shape, typed } from './shape.js';
import { type Branding, branding, named, status } from './stored.js';

const signIn = inputSchema({
  /** Sign-in methods that are allowed. A write of the record checks that they exist. @default all */
  methods: Type.Optional(Type.Array(token(), { minItems: 1, uniqueItems: true })),
  requireMfa: Type.Optional(Type.Boolean()),
  /** Whether users may register by themselves. */
  selfRegistration: Type.Optional(Type.Boolean()),
  /** Whether users may be linked to accounts of other tenants, as a parent account or as a child account. @default true */
  accountLinks: Type.Optional(Type.Boolean()),
});

/**
 * Parts of their own person that users may change, as a tenant allows. `name` is the given name and the surname, `attributes` the attributes that the option
 * `attributes.selfService` names.
 */
export const selfServiceParts = ['name', 'phone', 'locale', 'attributes'] as const;
/** A part of their own person that users may change, such as `name`. */
export type SelfServicePart = (typeof selfServiceParts)[number];

/** Members of a tenant that callers write. */
export const tenantMembers = {
  name: line(),
  organisationNumber: Type.Optional(line()),
  signIn: Type.Optional(signIn),
  branding: Type.Optional(branding),
  /** A language tag of the pages' languages. */
  locale: Type.Optional(languageTag()),
  /** Parts of their own person that users may change. @default name, locale and attributes */
  selfService: Type.Optional(Type.Array(oneOf(...selfServiceParts), { uniqueItems: true })),
};
export const tenant = Type.Object({
  ...named,
  ...tenantMembers,
  branding: Type.Optional(typed<Branding>(branding)),
  /**
   * The normalized name, by which names of tenants are compared. The normalized name is unique, and each write of the name sets it. Rows of
   * another program have no normalized name until their names change.
   */
  uniqueName: Type.Optional(Type.String()),
  status: status(),
  /** Instant before which sign-ins of the tenant's users do not count. */
  notBefore: Type.Optional(Type.Date()),
});
export interface Tenant extends Shape<typeof tenant> {}

/** Members of a subsidiary that callers write. */
export const subsidiaryMembers = { name: line(), organisationNumber: Type.Optional(line()) };
export const subsidiary = Type.Object({ ...named, tid: Type.String(), ...subsidiaryMembers });
/** An organisation of a tenant. The subsidiary gives `orgid`, `orgin` and `company_name` to the persons assigned to it. */
export interface Subsidiary extends Shape<typeof subsidiary> {}

/** Maximum entries of a list in one request. A record that has more keeps them. */
export const MOST_REFS = 1000;

/** Members of a group that callers write. */
export const groupMembers = { name: line(), permissionIds: strings(MOST_REFS) };
/** Values of {@link groupMembers} that a new group may leave out. */
export const groupDefaults = { permissionIds: [] };
export const group = Type.Object({
  ...named,
  tid: Type.String(),
  ...groupMembers,
  /** `yes` for a group with a permission of the admin API. Derived as {@link nameKey} is. */
  givesAdminScope: Type.Optional(oneOf('yes')),
});
export interface Group extends Shape<typeof group> {}

/** Members of a permission that callers write. */
export const permissionMembers = { name: line(), description: Type.Optional(line(1000)) };
export const permission = Type.Object({ ...named, ...permissionMembers });
/** A permission. The id of the record is the value of the claim `perm`; not a UUID. */
export interface Permission extends Shape<typeof permission> {}
