export const fi = {
  'saml.refused.title': 'Pyyntöä ei hyväksytty',
  'saml.refused.text': 'Sovellus pyysi jotakin tavalla, jota ei sallita täällä. Kerro siitä sovelluksesta vastaaville.',
  'saml.unknown.title': 'Tätä sovellusta ei tunneta täällä',
  'saml.unknown.text': 'Sitä ei ole rekisteröity tänne, tai sen rekisteröinti ei ole käytössä. Kerro siitä sovelluksesta vastaaville.',
  'saml.refused.reason': 'Syy: {reason}',
  'saml.reference': 'Viite: {reference}',
  'saml.expired.title': 'Tämä vaihe on ohi',
  'saml.expired.text': 'Se on jo käytetty tai kesti liian kauan. Aloita uudelleen sovelluksesta.',
  'saml.notSignedIn.title': 'Sinua ei kirjattu sisään',
  'saml.notSignedIn.text': 'Kirjautuminen sovellukseen {application} ei onnistunut. Aloita uudelleen sovelluksesta.',
  'saml.signedOut.title': 'Olet kirjautunut ulos',
  'saml.signedOut.text': 'Voit sulkea tämän sivun.',
};
