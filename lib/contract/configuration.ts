/** Names that an extension adds to members of oidc-provider's configuration. */
export interface ConfigurationAddition {
  /** Features, such as `ciba`. */
  readonly features?: Readonly<Record<string, object>>;
  /** Paths of the endpoints that the features add, below the issuer. */
  readonly routes?: Readonly<Record<string, string>>;
  /** Lifetimes of the models that the features add, in seconds. */
  readonly ttl?: Readonly<Record<string, number>>;
}
