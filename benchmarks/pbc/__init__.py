"""Dynamic prediction in primary biliary cholangitis: R's ``pbcseq``, landmark models beside recurrent ones."""
