import type { Interaction, SignIn } from '../../contract/sign-in/interaction.js';
import type { Interactions } from '../../contract/sign-in/interactions.js';
import type { SignInMethod } from '../../contract/sign-in/sign-in-method.js';
import { present } from '../../present.js';
import type { OidcParts } from '../context.js';

interface Ways extends Pick<Interactions, 'ways' | 'idpOf' | 'begin'> {
  /** Returns the sign-in with the name of its method, if neither the method nor the `idp` names the method. */
  named(signIn: SignIn): Promise<SignIn>;
}

/** Creates the look-up of the methods by which users may sign in in an interaction, and of the first steps of these methods. */
export function createSignInWays({ offers, directory }: OidcParts): Ways {
  /** Returns the methods that the tenant allows, if there is only one tenant. */
  async function allowedBy({ tids }: Interaction): Promise<readonly string[] | undefined> {
    const [only, ...others] = tids ?? [];
    const tenant = only !== undefined && others.length === 0 ? await directory.tenants.get(only) : undefined;
    return tenant?.signIn?.methods;
  }

  const isAllowed = (
    asked: string | undefined,
    allowed: readonly string[] | undefined,
    idp: string,
    { name: method, isLocal = false }: Pick<SignInMethod, 'name' | 'isLocal'>,
  ): boolean =>
    (asked === undefined || asked === idp || asked === method || (isLocal && asked === 'local')) &&
    (allowed?.some((name) => name === idp || name === method) ?? true);

  async function usable(interaction: Interaction, idp: string): Promise<SignInMethod | undefined> {
    const method = await offers.methodOf(idp);
    return method && isAllowed(interaction.idp, await allowedBy(interaction), idp, method) ? method : undefined;
  }

  async function onlyWay(interaction: Interaction, password: boolean, names: readonly string[]): Promise<string | undefined> {
    if (interaction.idp !== undefined && interaction.idp !== 'local') return interaction.idp;
    const others = password ? [] : [...new Set(names)];
    const [only, ...more] =
      others.length > 0
        ? (await Promise.all(others.map(async (idp) => [idp, await usable(interaction, idp)] as const))).filter(([, method]) => method)
        : [];
    return more.length === 0 ? only?.[0] : undefined;
  }

  return {
    async named(signIn) {
      if (signIn.method !== undefined || signIn.idp === 'local') return signIn;
      const found = await offers.methodOf(signIn.idp);
      return found && found.name !== signIn.idp ? { ...signIn, method: found.name } : signIn;
    },

    async ways(interaction) {
      const allowed = await allowedBy(interaction);
      const buttons = await Promise.all(
        offers.methods().map(async (method) => {
          const all = (await method.buttons?.(interaction)) ?? [];
          return all.filter(({ idp }) => isAllowed(interaction.idp, allowed, idp, method));
        }),
      );
      const password = isAllowed(interaction.idp, allowed, 'local', { name: 'password' });
      const only = await onlyWay(interaction, password, [...(allowed ?? []), ...buttons.flat().map(({ idp }) => idp)]);
      return { password, buttons: buttons.flat(), ...present({ only }) };
    },

    async idpOf(interaction, identifier) {
      for (const { idpOf } of offers.methods()) {
        const idp = await idpOf?.(identifier, interaction);
        if (idp !== undefined && (await usable(interaction, idp))) return idp;
      }
      return undefined;
    },

    async begin(ctx, interaction, idp) {
      const method = await usable(interaction, idp);
      await method?.begin(ctx, interaction, idp);
      return method !== undefined;
    },
  };
}
