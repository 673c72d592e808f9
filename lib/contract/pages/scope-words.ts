/** Texts of a scope on the consent page. */
import type { ScopeDescription } from '../../store/records/records.js';

export interface ScopeWords {
  /** Name of the API resource that owns the scope. Absent for scopes of claims. */
  readonly api?: string;
  /** Description of the scope's claims, or the description by its API resource. Absent if there is no description. */
  readonly description?: ScopeDescription;
}
