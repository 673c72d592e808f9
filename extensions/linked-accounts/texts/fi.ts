import type { en } from './en.js';

export const fi: Record<keyof typeof en, string> = {
  'linked.title': 'Yhdistetyt tilit',
  'linked.lead': 'Olet kirjautunut käyttäjänä {userName} ({tenant}).',
  'linked.summary': 'Yksi yhteinen kirjautuminen tileillesi eri organisaatioissa.',
  'linked.none': 'Tähän tiliin ei ole yhdistetty muita tilejä. Yhdistetyillä tileillä on yksi yhteinen kirjautuminen.',
  'linked.add': 'Yhdistä toinen tili',
  'linked.closed': 'Tämä organisaatio ei salli tiliensä yhdistämistä muiden organisaatioiden tileihin.',
  'linked.end': 'Pura',
  'linked.linked': 'Tilit on yhdistetty.',
  'linked.unlinked': 'Yhteys on purettu.',
  'linked.back': 'Takaisin yhdistettyihin tileihin',
  'linked.confirm.title': 'Yhdistetäänkö nämä tilit?',
  'linked.confirm.lead': 'Sen jälkeen sinulla on yksi kirjautuminen molempiin, ja valitset organisaation.',
  'linked.confirm.credentials':
    'Valitsemasi tilin salasana ja toinen tunniste ovat sen jälkeen voimassa molemmissa. Toisen tilin omia ei enää käytetä.',
  'linked.confirm.submit': 'Yhdistä ja kirjaudu käyttäjänä {userName} ({tenant})',
  'linked.confirm.leave': 'Älä yhdistä',
  'linked.refused.title': 'Näitä tilejä ei voi yhdistää',
  'linked.refused.same': 'Kirjauduit samalle tilille kahdesti. Kirjaudu toiselle tilille yhdistääksesi sen.',
  'linked.refused.linked': 'Ne on jo yhdistetty.',
  'linked.refused.tenant': 'Molemmilla on tili samassa organisaatiossa. Yhdistetyillä tileillä on yksi kussakin.',
  'linked.refused.families': 'Molemmat on yhdistetty muihin tileihin. Pura ensin toisen yhteydet.',
  'linked.refused.privileged': 'Ylläpitäjien tilejä ei yhdistetä.',
  'linked.refused.policy': 'Toinen organisaatioista ei salli tiliensä yhdistämistä muiden organisaatioiden tileihin.',
  'linked.onlyWay.title': 'Tätä yhteyttä ei voi purkaa nyt',
  'linked.refused.onlyWay':
    'Tilillä {userName} ei ole omaa kirjautumistapaa, joten et voisi enää kirjautua siihen. Kysy organisaation {tenant} ylläpitäjältä.',
  'linked.unlink.title': 'Puretaanko tämä yhteys?',
  'linked.unlink.text':
    'Kun purat yhteyden, sinut kirjataan ulos organisaatiosta {tenant}. Sen jälkeen tilillä {userName} on oma kirjautumisensa. Jos sillä ei ole salasanaa, organisaation {tenant} ylläpitäjä voi auttaa.',
  'linked.unlink.submit': 'Pura yhteys',
  'linked.unlink.leave': 'Säilytä yhteys',
  'linked.lost.title': 'Aloita alusta',
  'linked.lost.text': 'Tämä vaihe on ohi, tai se aloitettiin toisessa selaimessa. Mitään ei muutettu.',
};
