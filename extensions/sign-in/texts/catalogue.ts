import { en } from './en.js';

export type TextKey = keyof typeof en;

/** A catalogue: a text for every key, and no other text. */
export type Texts = Readonly<Record<TextKey, string>>;

type PlaceholdersOf<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | PlaceholdersOf<Rest> : never;

/** Names of the placeholders of a text. */
export type Placeholder<Key extends TextKey> = PlaceholdersOf<(typeof en)[Key]>;

type ScopeText = Extract<TextKey, `scope.${string}`>;

/** Returns whether a scope has its own text, by `scope.` and its name. */
export const isScopeText = (key: string): key is ScopeText => key.startsWith('scope.') && Object.hasOwn(en, key);
