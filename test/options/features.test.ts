import { describe, expect, test } from '@jest/globals';
import { type ConfigError, createIdentityProvider, type IdentityProviderOptions } from 'tenant-idp';
import { featureStandings, settableFeatures } from '../../lib/options/features.js';
import { resolveOptions } from '../../lib/options/resolve.js';
import { pageAt } from '../docs/pages.js';

const problemsOf = (features: unknown) => {
  try {
    resolveOptions({ issuer: 'http://localhost:3000', features });
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
};
const named = (standing: string) => Object.keys(featureStandings).filter((name) => featureStandings[name]?.standing === standing);

describe('option `features`: each feature of oidc-provider is carried, on for good, or refused by name', () => {
  test('every feature of the oidc-provider that is installed has its standing', async () => {
    const file = 'oidc-provider/lib/helpers/defaults.js';
    const { default: getDefaults } = (await import(file)) as { default: () => { features: object } };
    expect(Object.keys(getDefaults().features).toSorted()).toEqual(Object.keys(featureStandings).toSorted());
  });

  test('the documentation has a row for each', () => {
    expect(
      pageAt('docs/reference/options.md')
        .table('Features of oidc-provider', 'Feature')
        .map(([name, standing]) => [name, standing]),
    ).toEqual(
      Object.entries(featureStandings)
        .map(([name, { standing }]) => [name, standing])
        .toSorted(([one = ''], [other = '']) => one.localeCompare(other, 'en')),
    );
  });

  test('those that can be set are those that the type of the option has', () => {
    const typed: Readonly<Record<keyof NonNullable<IdentityProviderOptions['features']>, true>> = {
      claimsParameter: true,
      dPoP: true,
      encryption: true,
      fapi: true,
      jwtUserinfo: true,
      mTLS: true,
      resourceIndicators: true,
      pushedAuthorizationRequests: true,
      requestObjects: true,
    };
    const given = Object.fromEntries(Object.keys(featureStandings).map((name) => [name, {}]));
    expect(Object.keys(settableFeatures(given))).toEqual(Object.keys(typed));
  });

  test.each(named('refused'))('%s is refused, with its path and the reason; to say that it is off is no mistake', (name) => {
    expect(problemsOf({ [name]: { enabled: true } })).toEqual([
      { path: `features.${name}`, expected: expect.stringMatching(/^nothing, because .+/) },
    ]);
    expect(problemsOf({ [name]: { enabled: false } })).toEqual([]);
  });

  test.each(named('always on'))('%s is part of the service: it may be confirmed, and not turned off', (name) => {
    expect(problemsOf({ [name]: { enabled: true } })).toEqual([]);
    expect(problemsOf({ [name]: { enabled: false } })).toEqual([
      { path: `features.${name}.enabled`, expected: 'true, because it is part of the service', received: 'false' },
    ]);
  });

  test.each([...named('option'), ...named('always on')])('%s knows its members, and takes no others', (name) => {
    expect(problemsOf({ [name]: { enalbed: true } })).toEqual([
      { path: `features.${name}.enalbed`, expected: 'an option of the feature that exists', didYouMean: 'enabled' },
    ]);
    expect(problemsOf({ [name]: true })).toEqual([
      { path: `features.${name}`, expected: 'an object, such as { enabled: true }', received: 'true' },
    ]);
  });

  test('all that is wrong is told at once, and what was meant', () => {
    expect(
      problemsOf({
        dPop: { enabled: true },
        deviceFlow: { enabled: true },
        fapi: { enabled: true },
        mTLS: { enabled: true, tlsClientAuth: true, getCertificate: 'header' },
        requestObjects: { assertJwtClaimsAndHeader: () => {} },
      }).map(({ path, didYouMean }) => [path, didYouMean]),
    ).toEqual([
      ['features.dPop', 'dPoP'],
      ['features.deviceFlow', undefined],
      ['features.fapi.profile', undefined],
      ['features.mTLS.getCertificate', undefined],
      ['features.mTLS.certificateAuthorized', undefined],
      ['features.mTLS.certificateSubjectMatches', undefined],
      ['features.requestObjects.assertJwtClaimsAndHeader', undefined],
    ]);
  });

  test.each(['deviceFlow', 'registration'])('`configure` does not get %s in by the back door', async (name) => {
    const configure: IdentityProviderOptions['configure'] = (configuration) =>
      void Object.assign(configuration.features ?? {}, { [name]: { enabled: true } });
    await expect(createIdentityProvider({ issuer: 'http://localhost:3000', configure })).rejects.toMatchObject({
      code: 'invalid_options',
      problems: [{ path: `configure.features.${name}`, expected: expect.stringMatching(/^nothing, because /) }],
    });
  });
});
