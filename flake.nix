# `nix run . -- run first-steps`, `nix build`, `nix develop`: numalab as one static program, and a shell to change it in.
{
  description = "A laboratory for automatic NUMA balancing";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
    in
    {
      packages = each (pkgs: rec {
        default = numalab;

        # Linked with musl, as the worker inside it.
        numalab = pkgs.pkgsStatic.rustPlatform.buildRustPackage {
          pname = "numalab";
          version = manifest.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--bin" "numalab" ];
          # Most tests need Python, Node.js or QEMU: `make test` runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.buildPackages.installShellFiles ];
          postInstall = ''
            for shell in bash zsh fish; do
              $out/bin/numalab completions $shell > numalab.$shell
            done
            installShellCompletion numalab.{bash,zsh,fish}
            $out/bin/numalab man > numalab.1
            installManPage numalab.1
          '';
          meta = {
            description = manifest.description or "A laboratory for automatic NUMA balancing";
            license = with pkgs.lib.licenses; [ asl20 mit ];
            mainProgram = "numalab";
            platforms = systems;
          };
        };
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell {
          packages = with pkgs; [
            cargo clippy rustfmt rustc lld
            python3 nodejs
            qemu gcc glibc.static cpio rsync xz
            gnumake flex bison bc elfutils openssl ccache patch
          ];
        };
      });
    };
}
