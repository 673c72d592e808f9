/**
 * Service providers in the option `seed`, under `extensions.saml.serviceProviders`. Each service provider has its id, and the name of its tenant unless it
 * belongs to the instance. Metadata is given as text, because a start must not depend on another server. Settings of tenants' entities are under
 * `extensions.saml.entities`.
 */
import { ConfigError, defineSeed, type ExtensionContext, type ExtensionSeed, IdpError } from '../../../lib/extension-door.js';
import { entitySettings, type Settings } from '../entities/settings.js';
import { type Fault, refuse } from '../service-providers/errors.js';
import { serviceProviders } from '../service-providers/records.js';
import type { ServiceProviderRefresh } from './refresh.js';
import type { Registrar } from './registrar.js';
import { checked, checkReferences } from './rules.js';
import { indexed, seedForm } from './schemas.js';
import type { ServiceProviderWrites } from './writes.js';

interface Parts {
  readonly tenantEntities: boolean;
  readonly registrar: Registrar;
  readonly refresh: ServiceProviderRefresh;
  readonly writes: ServiceProviderWrites;
  readonly settings: Settings;
}

const by = { actor: 'seed' };

export const serviceProviderSeed = (partsOf: (context: ExtensionContext) => Parts): ExtensionSeed =>
  defineSeed({
    form: seedForm,
    pieces({ entities = [], serviceProviders: seeded = [] }, context, { tenantId }) {
      const parts = partsOf(context);
      const { registrar, refresh, tenantEntities, writes } = parts;
      const ofEntities = entities.map((entity, index) => entityPiece({ ...entity, tid: tenantId(entity.tenant) }, index, context, parts));
      const ofServiceProviders = seeded.map(({ id, tenant, metadata, allowedTenants, ...rest }, index) => {
        const owner = tenant === undefined ? context.records.ofInstance : tenantId(tenant);
        const given = { ...indexed(rest), ...(allowedTenants && { allowedTenants: allowedTenants.map(tenantId) }) };
        // Metadata that has expired must not fail a start.
        const expected = { entityId: given.entityId, overridden: new Set(Object.keys(given)), mayBeOver: true };
        const { source: _, ...fields } = asOptionProblem(`serviceProviders[${index}]`, () => {
          if (tenant !== undefined && !tenantEntities) refuse([{ path: '/tenant', expected: 'nothing, because tenantEntities is false' }]);
          return registrar.create(
            given,
            owner,
            metadata === undefined ? undefined : { description: refresh.read(metadata, '/metadata', expected) },
          );
        });
        const place = { owner, id };
        // The references are checked before the write, because the same seed may create the connection.
        const checkIdp = ({ idp }: { readonly idp?: unknown }) =>
          asOptionProblem(`serviceProviders[${index}]`, () => checkReferences(typeof idp === 'string' ? { idp } : {}, owner, context));
        return {
          collection: serviceProviders.name as 'saml.service-providers',
          id,
          fields: { ...fields },
          find: () => context.records.collection(serviceProviders, owner).get(id),
          async create() {
            await checkIdp(fields);
            return writes.create(place, fields, by);
          },
          async update(__: string, patch: Readonly<Record<string, unknown>>) {
            await checkIdp(patch);
            return writes.update(place, (row) => checked({ ...row, ...patch }, owner, context), by);
          },
        };
      });
      return [...ofEntities, ...ofServiceProviders];
    },
  });

/** Returns the settings of a tenant's entity as a record of the seed. */
function entityPiece(
  { tid, wantAuthnRequestsSigned }: { readonly tid: string; readonly wantAuthnRequestsSigned: boolean },
  index: number,
  context: ExtensionContext,
  { settings, tenantEntities }: Pick<Parts, 'settings' | 'tenantEntities'>,
) {
  const place = `entities[${index}]`;
  if (!tenantEntities) asOptionProblem(place, () => refuse([{ path: '/tenant', expected: 'nothing, because tenantEntities is false' }]));
  const write = (change: Readonly<Record<string, unknown>>) => asOptionProblem(place, () => settings.change(tid, change, by));
  const fields = { wantAuthnRequestsSigned };
  return {
    collection: entitySettings.name as 'saml.entities',
    id: tid,
    fields,
    find: () => context.records.collection(entitySettings, tid).get(tid),
    create: () => write(fields),
    update: (_: string, patch: Readonly<Record<string, unknown>>) => write(patch),
  };
}

/** Returns the result of writing a record of the seed. An invalid record throws a ConfigError about the options. */
function asOptionProblem<Made>(place: string, make: () => Made): Made {
  try {
    const made = make();
    return made instanceof Promise ? (made.catch((error: unknown) => refuseOption(place, error)) as Made) : made;
  } catch (error) {
    return refuseOption(place, error);
  }
}

function refuseOption(place: string, error: unknown): never {
  if (!IdpError.is(error, 'invalid_record') && (error as { code?: unknown }).code !== 'metadata_invalid') throw error;
  const { details } = error as IdpError;
  const { problems = [details as unknown as Fault] } = details as { readonly problems?: readonly Fault[] };
  const optionPath = `seed.extensions.saml.${place}`;
  throw new ConfigError(
    'invalid_options',
    problems.map(({ path, expected }) => ({ path: optionPath + path.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.'), expected })),
  );
}
