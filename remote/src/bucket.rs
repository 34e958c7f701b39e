//! The client of a bucket: object_store's, with the caller's options and credentials. If the caller gives
//! keys, none from the environment are used.

use crate::address::{Address, Service};
use crate::attempt::refused;
use crate::failure::{invalid, Failure};
use crate::profile::{self, Profile};
use crate::service::{retry, Connector};
use crate::settings::Settings;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::list::PaginatedListStore;
use object_store::{ClientConfigKey, ObjectStore};
use std::str::FromStr;
use std::sync::Arc;

/// A bucket, with clients for its objects and its listing.
#[derive(Clone)]
pub struct Bucket {
    pub objects: Arc<dyn ObjectStore>,
    pub pages: Arc<dyn PaginatedListStore>,
}

impl Bucket {
    fn new<T: ObjectStore + PaginatedListStore>(built: object_store::Result<T>) -> Result<Bucket, Failure> {
        let store = Arc::new(built.map_err(|e| refused(&e))?);
        Ok(Bucket { objects: store.clone(), pages: store })
    }

    /// The bucket of an address; `None` for a web server.
    pub fn open(address: &Address, settings: &Settings) -> Result<Option<Bucket>, Failure> {
        let (variables, retry) = (Variables::of_process(), retry(settings));
        let connector = || Connector(settings.clone());
        Ok(Some(match address.service {
            Service::Http => return Ok(None),
            Service::S3 => {
                let builder = s3(address, settings, &variables)?;
                Bucket::new(builder.with_retry(retry).with_http_connector(connector()).build())?
            }
            Service::Google => {
                let builder = google(address, settings, &variables);
                Bucket::new(builder.with_retry(retry).with_http_connector(connector()).build())?
            }
            Service::Azure => {
                let builder = azure(address, settings, &variables);
                Bucket::new(builder.with_retry(retry).with_http_connector(connector()).build())?
            }
        }))
    }
}

/// The environment variables whose values are text.
struct Variables(Vec<(String, String)>);

impl Variables {
    fn of_process() -> Variables {
        let all = std::env::vars_os();
        Variables(
            all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
                .collect(),
        )
    }

    /// Whether one of the variables has a value.
    fn has(&self, names: &[&str]) -> bool {
        self.0.iter().any(|(name, value)| names.contains(&name.as_str()) && !value.is_empty())
    }

    /// The value of a variable.
    fn named(&self, wanted: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    /// The variables of a service that object_store knows.
    fn known<'a, K: FromStr + 'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (K, &'a str)> {
        let named = self.0.iter().filter(move |(name, _)| name.starts_with(prefix));
        named.filter_map(|(name, value)| Some((name.to_ascii_lowercase().parse().ok()?, value.as_str())))
    }
}

/// A flag that is set, in object_store's form.
fn yes(is_set: bool) -> Option<String> {
    is_set.then(|| "true".into())
}

/// The settings that have a value.
fn set<K, const N: usize>(given: [(Option<String>, K); N]) -> impl Iterator<Item = (K, String)> {
    given.into_iter().filter_map(|(value, key)| Some((key, value?)))
}

fn s3(address: &Address, settings: &Settings, variables: &Variables) -> Result<AmazonS3Builder, Failure> {
    use AmazonS3ConfigKey as Key;
    let is_given = settings.key_id.is_some() || settings.secret.is_some() || settings.token.is_some();
    if is_given && (settings.key_id.is_none() || settings.secret.is_none()) {
        let why = "for S3 give key_id and secret together, and token only with both";
        return Err(invalid(why));
    }
    let mut found = Profile::default();
    let has_other_keys = variables.has(&[
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ]);
    if !is_given && !settings.anonymous && !has_other_keys {
        found = profile::read();
    }
    let has_keys = is_given || found.key_id.is_some();
    let is_credential = |key: &Key| {
        matches!(
            key,
            Key::AccessKeyId
                | Key::SecretAccessKey
                | Key::Token
                | Key::WebIdentityTokenFile
                | Key::RoleArn
                | Key::RoleSessionName
                | Key::ContainerCredentialsRelativeUri
                | Key::ContainerCredentialsFullUri
                | Key::ContainerAuthorizationTokenFile
                | Key::SkipSignature
        )
    };
    let mut builder = AmazonS3Builder::new();
    for (key, value) in variables.known("AWS_").filter(|(key, _)| !has_keys || !is_credential(key)) {
        builder = builder.with_config(key, value);
    }
    let (key_id, secret, token) = match is_given {
        true => (settings.key_id.clone(), settings.secret.clone(), settings.token.clone()),
        false => (found.key_id, found.secret, found.token),
    };
    let has_region = variables.has(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
    let given = [
        (key_id, Key::AccessKeyId),
        (secret, Key::SecretAccessKey),
        (token, Key::Token),
        (settings.region.clone().or(found.region.filter(|_| !has_region)), Key::Region),
        (settings.endpoint.clone(), Key::S3Endpoint), // takes precedence over Endpoint
        (yes(settings.allow_http), Key::Client(ClientConfigKey::AllowHttp)),
        (yes(settings.anonymous), Key::SkipSignature),
    ];
    let builder = set(given).fold(builder, |builder, (key, value)| builder.with_config(key, value));
    Ok(builder.with_bucket_name(&address.root))
}

fn google(address: &Address, settings: &Settings, variables: &Variables) -> GoogleCloudStorageBuilder {
    use GoogleConfigKey as Key;
    let is_given = settings.secret.is_some() || settings.token.is_some();
    let is_credential = |key: &Key| {
        matches!(
            key,
            Key::ServiceAccount
                | Key::ServiceAccountKey
                | Key::ApplicationCredentials
                | Key::BearerToken
                | Key::SkipSignature
        )
    };
    let no_http = Key::Client(ClientConfigKey::AllowHttp); // object_store would allow http here
    let mut builder = GoogleCloudStorageBuilder::new().with_config(no_http, "false");
    let of_account = variables.named("SERVICE_ACCOUNT").map(|value| (Key::ServiceAccount, value)).into_iter();
    for (key, value) in
        of_account.chain(variables.known("GOOGLE_")).filter(|(key, _)| !is_given || !is_credential(key))
    {
        builder = builder.with_config(key, value);
    }
    let given = [
        (settings.secret.clone(), Key::ServiceAccountKey),
        (settings.token.clone(), Key::BearerToken),
        (settings.endpoint.clone(), Key::BaseUrl),
        (yes(settings.allow_http), Key::Client(ClientConfigKey::AllowHttp)),
        (yes(settings.anonymous), Key::SkipSignature),
    ];
    let builder = set(given).fold(builder, |builder, (key, value)| builder.with_config(key, value));
    builder.with_bucket_name(&address.root)
}

fn azure(address: &Address, settings: &Settings, variables: &Variables) -> MicrosoftAzureBuilder {
    use AzureConfigKey as Key;
    // The account only says whose container it is, so it may be combined with keys from the environment.
    let is_given = settings.secret.is_some() || settings.token.is_some();
    let is_credential = |key: &Key| {
        matches!(
            key,
            Key::AccessKey
                | Key::ClientId
                | Key::ClientSecret
                | Key::AuthorityId
                | Key::SasKey
                | Key::Token
                | Key::MsiEndpoint
                | Key::ObjectId
                | Key::MsiResourceId
                | Key::FederatedTokenFile
                | Key::FabricTokenServiceUrl
                | Key::FabricWorkloadHost
                | Key::FabricSessionToken
                | Key::FabricClusterIdentifier
                | Key::UseAzureCli
                | Key::CredentialType
                | Key::SkipSignature
        )
    };
    let is_place = |key: &Key| matches!(key, Key::UseEmulator | Key::UseFabricEndpoint);
    let mut builder = MicrosoftAzureBuilder::new();
    let of_machine = variables.named("IDENTITY_ENDPOINT").map(|value| (Key::MsiEndpoint, value)).into_iter();
    for (key, value) in of_machine.chain(variables.known("AZURE_")) {
        if !(is_given && is_credential(&key) || settings.endpoint.is_some() && is_place(&key)) {
            builder = builder.with_config(key, value);
        }
    }
    let given = [
        (settings.key_id.clone(), Key::AccountName),
        (settings.secret.clone(), Key::AccessKey),
        (settings.token.clone(), Key::Token),
        (settings.endpoint.clone(), Key::Endpoint),
        (yes(settings.allow_http), Key::Client(ClientConfigKey::AllowHttp)),
        (yes(settings.anonymous), Key::SkipSignature),
    ];
    let builder = set(given).fold(builder, |builder, (key, value)| builder.with_config(key, value));
    builder.with_container_name(&address.root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::status;

    fn variables(all: &[&str]) -> Variables {
        let pair = |name: &&str| (name.to_string(), format!("env {name}"));
        Variables(all.iter().map(pair).collect())
    }

    fn given() -> Settings {
        let text = |text: &str| Some(text.to_owned());
        let (endpoint, key_id, secret) = (text("https://given"), text("id"), text("word"));
        Settings { endpoint, key_id, secret, ..Settings::default() }
    }

    #[test]
    fn s3_takes_what_is_given_and_no_keys_along_with_it() {
        use AmazonS3ConfigKey as Key;
        let address = Address::parse("s3://b/k").unwrap();
        let all = variables(&[
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_ENDPOINT_URL",
            "AWS_ENDPOINT_URL_S3",
            "AWS_REGION",
            "AWS_BUCKET",
            "AWS_SKIP_SIGNATURE",
            "AWS_ROLE_ARN",
        ]);
        let builder = s3(&address, &given(), &all).unwrap();
        let value = |key| builder.get_config_value(&key);
        assert_eq!(value(Key::S3Endpoint).unwrap(), "https://given");
        assert_eq!(
            (value(Key::AccessKeyId).unwrap().as_str(), value(Key::SecretAccessKey).unwrap().as_str()),
            ("id", "word")
        );
        assert_eq!((value(Key::Token), value(Key::RoleArn)), (None, None));
        assert_eq!(
            (value(Key::Bucket).unwrap().as_str(), value(Key::Region).unwrap().as_str()),
            ("b", "env AWS_REGION")
        );
        assert_eq!(value(Key::SkipSignature).unwrap(), "false");
        // If the caller gives nothing, everything comes from the environment.
        let builder = s3(&address, &Settings::default(), &all).unwrap();
        assert_eq!(builder.get_config_value(&Key::Token).unwrap(), "env AWS_SESSION_TOKEN");
        assert_eq!(builder.get_config_value(&Key::S3Endpoint).unwrap(), "env AWS_ENDPOINT_URL_S3");
        for half in [Settings { key_id: None, ..given() }, Settings { secret: None, ..given() }] {
            assert_eq!(s3(&address, &half, &all).unwrap_err().status, status::INVALID_ARGUMENT);
        }
        let token = Settings { token: Some("only".into()), ..Settings::default() };
        assert_eq!(s3(&address, &token, &all).unwrap_err().status, status::INVALID_ARGUMENT);
    }

    #[test]
    fn google_and_azure_take_no_keys_along_either() {
        use {AzureConfigKey as A, GoogleConfigKey as G};
        let all = variables(&[
            "SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_BEARER_TOKEN",
            "AZURE_STORAGE_TOKEN",
            "AZURE_STORAGE_SAS_TOKEN",
            "AZURE_STORAGE_ACCOUNT_NAME",
            "AZURE_STORAGE_USE_EMULATOR",
            "IDENTITY_ENDPOINT",
        ]);
        let address = Address::parse("gs://b/k").unwrap();
        let builder = google(&address, &given(), &all);
        assert_eq!(builder.get_config_value(&G::ServiceAccount), None);
        assert_eq!(builder.get_config_value(&G::BearerToken), None);
        assert_eq!(builder.get_config_value(&G::ServiceAccountKey).unwrap(), "word");
        let builder = google(&address, &Settings::default(), &all);
        assert!(builder.get_config_value(&G::ServiceAccount).unwrap().ends_with("SERVICE_ACCOUNT"));
        let address = Address::parse("az://b/k").unwrap();
        let builder = azure(&address, &given(), &all);
        for key in [A::Token, A::SasKey, A::MsiEndpoint] {
            assert_eq!(builder.get_config_value(&key), None, "{key:?}");
        }
        assert_eq!(builder.get_config_value(&A::UseEmulator).unwrap(), "false");
        assert_eq!(builder.get_config_value(&A::AccountName).unwrap(), "id");
        let builder = azure(&address, &Settings::default(), &all);
        assert_eq!(builder.get_config_value(&A::MsiEndpoint).unwrap(), "env IDENTITY_ENDPOINT");
        assert_eq!(builder.get_config_value(&A::Token).unwrap(), "env AZURE_STORAGE_TOKEN");
    }

    #[test]
    fn flags_reach_every_service() {
        use {AmazonS3ConfigKey as S, AzureConfigKey as A, GoogleConfigKey as G};
        let (none, address) = (variables(&[]), Address::parse("s3://b/k").unwrap());
        for is_set in [false, true] {
            let settings = Settings { allow_http: is_set, anonymous: is_set, ..given() };
            let (s3, google) = (s3(&address, &settings, &none).unwrap(), google(&address, &settings, &none));
            let azure = azure(&address, &settings, &none);
            let http = ClientConfigKey::AllowHttp;
            for value in [
                s3.get_config_value(&S::Client(http)),
                s3.get_config_value(&S::SkipSignature),
                google.get_config_value(&G::Client(http)),
                google.get_config_value(&G::SkipSignature),
                azure.get_config_value(&A::Client(http)),
                azure.get_config_value(&A::SkipSignature),
            ] {
                assert_eq!(value.unwrap(), is_set.to_string());
            }
        }
    }
}
