# An application by the README of omniauth-saml, on Rack. `/` answers the signed-in user.
require 'json'
require 'rack'
require 'rack/handler/webrick'
require 'omniauth'
require 'omniauth-saml'
require 'open-uri'

idp, origin = ENV.values_at('IDP', 'ORIGIN')
secured = ENV.key?('SECURED')
remote = OneLogin::RubySaml::IdpMetadataParser.new.parse_to_hash(URI.parse("#{idp}/metadata").read)

OmniAuth.config.logger = Logger.new(File::NULL)
OmniAuth.config.allowed_request_methods = %i[get post]
OmniAuth.config.silence_get_warning = true

app = Rack::Builder.new do
  use Rack::Session::Cookie, key: "rack-#{ENV.fetch('PORT')}", secret: 'a secret of the application alone' * 3
  use OmniAuth::Builder do
    provider :saml, remote.merge(
      sp_entity_id: "#{origin}/auth/saml/metadata",
      assertion_consumer_service_url: "#{origin}/auth/saml/callback",
      single_logout_service_url: "#{origin}/auth/saml/slo",
      idp_sso_service_url_runtime_params: { RelayState: :RelayState },
      slo_default_relay_state: '/',
      certificate: ENV.fetch('CERTIFICATE'),
      private_key: ENV.fetch('KEY'),
      security: {
        authn_requests_signed: secured,
        logout_requests_signed: true,
        logout_responses_signed: true,
        want_assertions_signed: true,
        want_assertions_encrypted: secured,
        digest_method: XMLSecurity::Document::SHA256,
        signature_method: XMLSecurity::Document::RSA_SHA256
      }
    )
  end
  run(lambda do |env|
    request = Rack::Request.new(env)
    case request.path
    when '/login'
      [302, { 'location' => "/auth/saml?#{request.query_string}" }, []]
    when '/logout'
      [302, { 'location' => '/auth/saml/spslo' }, []]
    when '/auth/saml/callback'
      auth = env['omniauth.auth']
      attributes = auth.extra.raw_info.all.reject { |name, _| name == 'fingerprint' }
      request.session['user'] = { nameId: auth.uid, attributes: attributes, relayState: request.params['RelayState'] || '' }
      [302, { 'location' => '/' }, []]
    when '/auth/failure'
      [403, {}, [request.params['message'].to_s]]
    else
      # After a sign-out that began here, the strategy removes only its own members of the session.
      user = request.session['saml_uid'] && request.session['user']
      [200, { 'content-type' => 'application/json' }, [JSON.generate(user)]]
    end
  end)
end

Rack::Handler::WEBrick.run(app, Host: '127.0.0.1', Port: ENV.fetch('PORT').to_i, AccessLog: [], Logger: WEBrick::Log.new(File::NULL))
