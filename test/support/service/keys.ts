/** Signing keys for tests, because making RSA keys in each file would take longer than the tests. */
import type { JWK } from 'jose';

export const testKeys: readonly JWK[] = [
  {
    kty: 'RSA',
    n: 'kn53i0Sog05FoVAKOHHmjhobEzubR-C6NI4dDcyx_eO2-ISQBviDWVjlMxc_Uq_Xcd66SM7i_AX4aG15-J0WUIRKVg5u0wZq_CqJ9P7o_u3wUIQgyDbAUy8WXnzHdqldb1vEYBoe37JqtrARqprY5thM9rJ01aEM6AlC5yKRAzVzCp8PxrDu2NCjh8TNk0-mEan-lSFTgJghGx8TtJoRCBRCkasiOG_TYGoMScj3NLI66k4VyGZhXy4PCWR6otCSvKKrO7H_01W3mjqSOwfm-V5WabObz35hqGx99D0wpLMjd72qREHK_7d1QSUG-a6ZjY6Vu3C3huvW52PSoNq3Xw',
    e: 'AQAB',
    d: 'B7mjlDSKrmHySg9ueouHHPdDdkAucBvptdvIrHGe8USQ4YocDkIMqymE7KzNKg8bzWVxbWV7ks69ysP7KqEeDCDtypv4PCiae7HClKjcoJTrl1NgZy579ecFxvXNjvRfeP_d2zOFbUZ7Wibux5Bi38mIRXojryBPDe1vGcE45HJYscVGoeooEO-zvw2KOCuqc2N83rWvYjIYLrh2ZYirMzqK8dpAhyZoqV3dwypxzdr2LJAc8OgJoDF0h9eBU9EZF7fIDP_kCEPWU08BX2SjH--pkBBXYYm0olxG2hSyAXdJyOtOte4EfsBv6rieMJYXzRtfZI83Kf_7ywXFqgCV',
    p: 'w4ifz23SCndbkT9ByDk7FNco9Fz56Nc1oE4qmq4ewpSd4xG-0lZi7AkkmNcVMGgrZwqPfUNJXB99607RiVdl8kSvxTIRSdTfoGMu2FEcSp5TJWSP8lL1FwA3Q1N7fCkKEhqrVSwKTRXwwMPYourKSOT8ixbHcYHPbxRNWLg2qC0',
    q: 'v8ug_9CEFCbOzHMVTAo8q19lwvIJ7aIqB9nxuSx6ESAS8-o0bpgOGlIMCLR29sbXHyshcoS-nFfBkUMp95Epq6rY13YTmPIGyaYO712fkokPOoWXQjx0r7Bvzk4fn-Dl3TM2ggo8pUN8IxH_4QGJnqTHoloY_2lSfraHBJeV6Ts',
    dp: 'GymPibEnzGxoO_UdnkLVAkAhYFDKJp4-xNYW9QXbIAylIjYE3BNECqX6f4DhYKgX32iIJk6CklmNlHKOiRWrA8ym3i3mWOtJZW5hw4sA8xyrUDZ4CKGdimRtSNz_-m95BqrNwjcr9yllGGIcZgVXtGia7HdtnUb7GeMoG3r7nME',
    dq: 'nANKHY1CQxomUgyzID2biFN7dY5pIRIuWmCgzl4tlUyf3iV_LQ8nOaXQACy8MJUiXEo7VOpCGu8Pl9gohSdh3DCHXwy_eEQ33UPlFjT0HsC60IHmvoxq5pcA-7J06xqIIN0N08378vroOabkm-UiSxgDBD-B4hGMd2KGhefAnA0',
    qi: 'r2IHs-vVkdI218WiILXBtGywqC9xCaMmNJdIpRyPXxVsja-m57v0pVuX_bbxc2O-8Zd4b0Mbyf30NF9NnTrnYM9sxJdR6-0iLsknRGCKmJ5PS9PmVg1tSUz0BhH4j9Cu3q9x_0E8lfwoHN_cwPw1l9bQ4TFr0tulWw7M89IbTXE',
    alg: 'RS256',
    use: 'sig',
    kid: 'test-rs256',
  },
  {
    kty: 'EC',
    x: 'kgoL_UVJHgn7LY0R76AbxpomCfDxN1ObZopyPA54Fm8',
    y: 'bsjTeVCNMUvzSVtCzKFFiFwN0MyjSu7M5nu9GjGkeHU',
    crv: 'P-256',
    d: 'BZXhBy8_n6karpumadHM--m5JY6_2QJua64W-4hJdhE',
    alg: 'ES256',
    use: 'sig',
    kid: 'test-es256',
  },
];
