/** The choice among the organisations that one password signs in to: last used first, to be searched when there are many. */
import type { Context } from 'koa';
import {
  type Account,
  type ExtensionContext,
  formField,
  type Interaction,
  type Proof,
  shownName,
  typedField,
} from '../../../lib/extension-door.js';
import type { OrganisationChoice, PageView } from '../view-models.js';
import type { Steps } from './steps.js';

/** From so many on, the page has a search. */
const SEARCHED_FROM = 8;
/** More do not fit into a form that has each of them. */
const SEARCHED_TO = 400;
/** Characters of the value of a choice: an id, a time and a token. */
const LONGEST_CHOICE = 128;

export function createOrganisationStep({ directory, http: { csrf }, signIn: { interactions } }: ExtensionContext, { form }: Steps) {
  const { accounts, credentials } = directory;

  const choiceFor = (ctx: Context, interaction: Interaction, { person, tenant }: Account, proof: Proof): OrganisationChoice => ({
    value: `${person.user.id}.${proof.at}.${csrf.token(ctx, choiceOf(interaction, person.user.id, proof))}`,
    tenantName: tenant.name,
    personName: shownName(person),
    userName: person.user.userName,
  });

  /** The account of a choice, as long as the proof stays what it was. */
  async function chosen(ctx: Context, interaction: Interaction, choice: string): Promise<Chosen | undefined> {
    const [oid = '', provenAt = '', token] = choice.split('.');
    const account = /^\d{1,15}$/.test(provenAt) ? await accounts.findByOid(oid) : undefined;
    const proof = account && (await credentials.proofOf(account, new Date(Number(provenAt))));
    return account && proof && csrf.check(ctx, choiceOf(interaction, oid, proof), token) ? { account, proof } : undefined;
  }

  function viewOf(
    ctx: Context,
    interaction: Interaction,
    all: readonly Chosen[],
    identifier: string,
    search = '',
  ): PageView<'organisation'> {
    const remembered = interactions.remembered(ctx);
    const lastUse = ({ account: { person } }: Chosen): number => {
      const index = remembered.indexOf(person.user.id);
      return index < 0 ? remembered.length : index;
    };
    const byUse = all.toSorted(
      (one, other) => lastUse(one) - lastUse(other) || one.account.tenant.name.localeCompare(other.account.tenant.name),
    );
    const choices = byUse.map(({ account, proof }) => choiceFor(ctx, interaction, account, proof));
    const wanted = search.toLowerCase();
    return {
      page: 'organisation',
      ...form(ctx, interaction, '/organisation'),
      identifier,
      choices: choices.filter((choice) => [choice.tenantName, choice.userName].some((name) => name.toLowerCase().includes(wanted))),
      ...(choices.length >= SEARCHED_FROM && choices.length <= SEARCHED_TO
        ? { find: { search, all: choices.map(({ value }) => value).join(',') } }
        : {}),
    };
  }

  return {
    chosen,

    /** @param provenAt when the password was proven. */
    async view(ctx: Context, interaction: Interaction, given: readonly Account[], provenAt: Date): Promise<PageView<'organisation'>> {
      const all = await Promise.all(given.map(async (account) => ({ account, proof: await credentials.proofOf(account, provenAt) })));
      return viewOf(ctx, interaction, all, formField(ctx, 'identifier').trim());
    },

    /** Those that fit what the person looks for; undefined when none of them holds any more. */
    async search(ctx: Context, interaction: Interaction): Promise<PageView<'organisation'> | undefined> {
      const values = formField(ctx, 'all', SEARCHED_TO * LONGEST_CHOICE)
        .split(',')
        .slice(0, SEARCHED_TO);
      const all = (await Promise.all(values.map((value) => chosen(ctx, interaction, value)))).filter((each) => each !== undefined);
      const search = typedField(ctx, 'search', 'line').slice(0, 100);
      return all.length === 0 ? undefined : viewOf(ctx, interaction, all, formField(ctx, 'identifier').trim().slice(0, 320), search);
    },
  };
}

interface Chosen {
  readonly account: Account;
  readonly proof: Proof;
}

/** Whoever proved the password may choose this account, in this sign-in, as long as the proof stays what it is. */
const choiceOf = ({ uid }: Interaction, oid: string, { at, credentials }: Proof): string => `choice ${uid} ${oid} ${at} ${credentials}`;
