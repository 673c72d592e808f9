/** What is said of a scope where a person is asked to allow it. */
import type { ScopeDescription } from '../../store/records/records.js';

export interface ScopeWords {
  /** Of the API resource that owns the scope; absent for scopes of claims. */
  readonly api?: string;
  /** What the scope's claims are, or what its API resource says of it; absent where that says nothing. */
  readonly description?: ScopeDescription;
}
