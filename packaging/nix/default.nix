# nix-build packaging/nix: of the source tree that it lies in. Parsed by nix-instantiate; not built, as that needs nixpkgs.
{ pkgs ? import <nixpkgs> { } }:

pkgs.rustPlatform.buildRustPackage {
  pname = "libztensor";
  version = "0.9.0";
  src = pkgs.lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  nativeBuildInputs = [ pkgs.cmake ];

  # CMake calls cargo, and cargo finds the crates that are beside it.
  dontUseCmakeConfigure = true;
  buildPhase = ''
    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DZTENSOR_BUILD_TESTS=OFF \
      -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX=$out "-DZTENSOR_CARGO_FLAGS=--locked;--offline"
    cmake --build build
  '';
  installPhase = "cmake --install build";
  doCheck = false;

  meta = {
    description = "Opens, reads, verifies and writes zTensor .zt files of tensors";
    license = with pkgs.lib.licenses; [ mit asl20 ];
    platforms = pkgs.lib.platforms.linux ++ pkgs.lib.platforms.darwin;
  };
}
