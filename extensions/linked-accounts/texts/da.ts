import type { en } from './en.js';

export const da: Record<keyof typeof en, string> = {
  'linked.title': 'Sammenkædede konti',
  'linked.lead': 'Du er logget ind som {userName} ({tenant}).',
  'linked.summary': 'Ét fælles login for dine konti hos flere organisationer.',
  'linked.none': 'Ingen anden konto er kædet sammen med denne. Sammenkædede konti har ét fælles login.',
  'linked.add': 'Tilføj en anden konto',
  'linked.closed': 'Denne organisation tillader ikke, at dens konti kædes sammen med konti i andre organisationer.',
  'linked.end': 'Ophæv',
  'linked.linked': 'Kontiene er kædet sammen.',
  'linked.unlinked': 'Forbindelsen er ophævet.',
  'linked.back': 'Tilbage til sammenkædede konti',
  'linked.confirm.title': 'Vil du kæde disse konti sammen?',
  'linked.confirm.lead': 'Så har du ét login til begge og vælger organisation.',
  'linked.confirm.credentials':
    'Adgangskoden og den ekstra faktor for den konto, du vælger, gælder derefter for begge. Den anden kontos bruges ikke længere.',
  'linked.confirm.submit': 'Kæd dem sammen, og log ind som {userName} ({tenant})',
  'linked.confirm.leave': 'Kæd dem ikke sammen',
  'linked.refused.title': 'Disse konti kan ikke kædes sammen',
  'linked.refused.same': 'Du loggede ind på den samme konto to gange. Log ind på den anden konto for at tilføje den.',
  'linked.refused.linked': 'De er allerede kædet sammen.',
  'linked.refused.tenant': 'Begge har en konto i samme organisation. Sammenkædede konti har én i hver.',
  'linked.refused.families': 'Begge er kædet sammen med andre konti. Ophæv først forbindelserne for en af dem.',
  'linked.refused.privileged': 'Administratorers konti kædes ikke sammen.',
  'linked.refused.policy': 'En af organisationerne tillader ikke, at dens konti kædes sammen med konti i andre organisationer.',
  'linked.onlyWay.title': 'Denne forbindelse kan ikke ophæves nu',
  'linked.refused.onlyWay':
    'Kontoen {userName} har ingen egen måde at logge ind på, så du ville ikke længere kunne logge ind på den. Spørg administratoren hos {tenant}.',
  'linked.unlink.title': 'Vil du ophæve forbindelsen?',
  'linked.unlink.text':
    'Når du ophæver forbindelsen, bliver du logget ud af {tenant}. Derefter har {userName} sit eget login. Hvis kontoen ikke har en adgangskode, kan administratoren hos {tenant} hjælpe.',
  'linked.unlink.submit': 'Ophæv forbindelsen',
  'linked.unlink.leave': 'Behold forbindelsen',
  'linked.lost.title': 'Start forfra',
  'linked.lost.text': 'Dette trin er forbi eller blev startet i en anden browser. Intet blev ændret.',
};
